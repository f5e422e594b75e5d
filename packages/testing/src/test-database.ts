import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';
import type {} from './global-setup.ts'; // declares the injected values

export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
}

export interface DatabaseTemplate {
  /** The name of the template; test files that give the same name share one template. */
  readonly name: string;
  /** Fills the template once per test run. It must close its connections. */
  prepare(url: string): Promise<void>;
}

const LEAK_GRACE_MS = 5_000;

interface TestDatabaseOptions {
  /** What it is a copy of. @default none: it is empty */
  readonly template?: DatabaseTemplate;
  /** How long connections that were just closed may remain, in milliseconds. @default 5,000, for a busy machine */
  readonly leakGraceMs?: number;
}

/**
 * A separate database on the test run's PostgreSQL: empty, or a copy of a template. Disposing of it drops it, and throws
 * if a connection to it was left open.
 */
export async function createTestDatabase({
  template,
  leakGraceMs = LEAK_GRACE_MS,
}: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const source = template === undefined ? 'template0' : await findTemplate(template);
  const administrator = getAdministrator();
  // Copying the files takes a third of the processor time of logging each page, because nothing is flushed to a disk.
  await administrator.query(`CREATE DATABASE ${name} TEMPLATE ${pg.escapeIdentifier(source)} STRATEGY file_copy`);
  return {
    url: urlOfDatabase(name),
    [Symbol.asyncDispose]: () => dropDatabase(administrator, name, leakGraceMs),
  };
}

/** One connection for all tests of this process: opening two for each took half the time of making a database. */
let administrator: pg.Pool | undefined;

function getAdministrator(): pg.Pool {
  administrator ??= new pg.Pool({
    connectionString: inject('sharedServers').postgresUrl,
    max: 1,
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
  }).on('error', () => {}); // the next query opens another
  return administrator;
}

function urlOfDatabase(name: string): string {
  const url = new URL(inject('sharedServers').postgresUrl);
  url.pathname = `/${name}`;
  return url.href;
}

const templates = new Map<string, Promise<string>>();

function findTemplate(template: DatabaseTemplate): Promise<string> {
  const found = templates.get(template.name);
  if (found !== undefined) return found;
  const made = ensureTemplate(template);
  templates.set(template.name, made);
  made.catch(() => templates.delete(template.name)); // the next test tries again
  return made;
}

/** Test files run in several processes. The first one prepares the template; the others wait, each on its own connection. */
async function ensureTemplate({ name, prepare }: DatabaseTemplate): Promise<string> {
  const template = `template_${name}`;
  const administrator = new pg.Client({ connectionString: inject('sharedServers').postgresUrl });
  await administrator.connect();
  await administrator.query('SELECT pg_advisory_lock(hashtext($1))', [template]);
  try {
    const { rowCount } = await administrator.query('SELECT FROM pg_database WHERE datname = $1', [template]);
    if (rowCount === 0) {
      const unfinished = `unfinished_${randomUUID().replaceAll('-', '')}`;
      await administrator.query(`CREATE DATABASE ${unfinished} TEMPLATE template0`);
      await prepare(urlOfDatabase(unfinished));
      await waitUntilUnused(administrator, unfinished);
      await administrator.query(`ALTER DATABASE ${unfinished} RENAME TO ${pg.escapeIdentifier(template)}`);
    }
  } finally {
    await administrator.end(); // its end releases the lock
  }
  return template;
}

async function dropDatabase(administrator: pg.Pool, name: string, graceMs: number): Promise<void> {
  try {
    await waitUntilUnused(administrator, name, graceMs);
  } finally {
    await administrator.query(`DROP DATABASE ${name} WITH (FORCE)`);
  }
}

/** @throws Error that names each open connection */
async function waitUntilUnused(
  administrator: pg.Client | pg.Pool,
  name: string,
  graceMs = LEAK_GRACE_MS,
): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += 20) {
    const { rows } = await administrator.query<{ description: string }>(
      `SELECT format('%s, %s, last query: %s', coalesce(nullif(application_name, ''), 'unnamed'), state, query)
                AS description
         FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'`,
      [name],
    );
    if (rows.length === 0) return;
    if (waitedMs >= graceMs) {
      const list = rows.map(({ description }) => `  ${description}`).join('\n');
      throw new Error(`${rows.length} connection(s) to the test database were left open:\n${list}`);
    }
    await sleep(20);
  }
}
