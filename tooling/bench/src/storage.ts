import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateApiKeyId, generateApiKeyText, hashApiKeyText } from '@petstore/domain';
import { openPersistence, type Persistence } from '@petstore/persistence';
import {
  createCluster,
  findFreePort,
  postgresProgram,
  redisProgram,
  startServer,
  stopServer,
  urlOf,
} from '@petstore/testing/server-programs';
import pg from 'pg';

/** Like a small production server: commits reach the disk. */
const POSTGRES_PARAMETERS = {
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  max_connections: 100,
  max_wal_size: '4GB',
  checkpoint_timeout: '30min',
  random_page_cost: 1.1,
  wal_compression: 'on',
  jit: 'off',
  // Autovacuum could run while one server is measured and not the other. Tables are vacuumed after they are filled.
  autovacuum: 'off',
  timezone: 'UTC',
};
const TEMPLATE = 'migrated';
const UNLIMITED = 1_000_000_000;

/** PostgreSQL and Redis for this run only. Disposing of it ends them and deletes their data. */
export interface Storage extends AsyncDisposable {
  readonly folder: string;
  /** Servers that end before it when it is disposed of. */
  readonly users: AsyncDisposableStack;
  readonly postgresPid: number;
  readonly redisPid: number;
  readonly redisUrl: string;
  /** API keys: one that is never refused, and one whose day allows a single request, but whose minute any number. */
  readonly keys: { readonly unlimited: string; readonly exhausted: string };
  /** Makes a database with this many pending orders, with ids from 1 without gaps, ready to be read. @returns its URL */
  createDatabase(orders: number): Promise<string>;
}

/** @throws Error that names a program that this machine lacks */
export async function openStorage(): Promise<Storage> {
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const [redisPort, postgresPort] = [await findFreePort(), await findFreePort()];
  mkdirSync(join(folder, 'redis'));
  const cluster = await createCluster(join(folder, 'postgres'));
  const programs = [
    redisProgram(join(folder, 'redis'), redisPort),
    postgresProgram(cluster, postgresPort, POSTGRES_PARAMETERS),
  ];
  const pids: number[] = [];
  for (const program of programs) {
    const server = await startServer(program);
    stack.defer(() => stopServer(server, program));
    pids.push(server.pid ?? 0);
  }
  const [redisPid = 0, postgresPid = 0] = pids;
  const administrator = urlOf(cluster, postgresPort);
  const addressOf = (name: string) => Object.assign(new URL(administrator), { pathname: `/${name}` }).href;

  await query(administrator, `create database ${TEMPLATE}`);
  await using persistence = openPersistence({ databaseUrl: addressOf(TEMPLATE) });
  await persistence.migrations.migrate();
  const keys = { unlimited: await createKey(persistence, UNLIMITED), exhausted: await createKey(persistence, 1) };

  let databases = 0;
  async function createDatabase(count: number): Promise<string> {
    const name = `orders_${++databases}`;
    await query(administrator, `create database ${name} template ${TEMPLATE}`);
    await using filled = openPersistence({ databaseUrl: addressOf(name) });
    await filled.orders.generateOrders({ count, seed: 42, now: new Date() });
    // Nothing is then left to write during the measurements.
    for (const sql of ['vacuum (freeze, analyze)', 'checkpoint']) await query(addressOf(name), sql);
    return addressOf(name);
  }
  const owned = stack.move();
  const users = owned.use(new AsyncDisposableStack());
  const dispose = () => owned.disposeAsync();
  const redisUrl = `redis://127.0.0.1:${redisPort}`;
  return { folder, users, postgresPid, redisPid, redisUrl, keys, createDatabase, [Symbol.asyncDispose]: dispose };
}

async function createKey({ keyAdministration }: Persistence, perDay: number): Promise<string> {
  const id = generateApiKeyId(randomBytes);
  const text = generateApiKeyText('demo', id, randomBytes);
  const plan = { name: 'enterprise', limits: { perMinute: UNLIMITED, perDay } } as const;
  const key = { id, name: 'benchmark', kind: 'external', readOnly: false, plan, createdAt: new Date() } as const;
  await keyAdministration.createKey(key, hashApiKeyText(text));
  return text;
}

/** Runs one statement on a separate connection. */
export async function query(databaseUrl: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
