import { randomBytes } from 'node:crypto';
import { generateApiKeyId, generateApiKeyText, hashApiKeyText } from '@petstore/domain';
import { openPersistence, type Persistence } from '@petstore/persistence';
import pg from 'pg';
import type { Storage } from './storage.ts';

const UNLIMITED = 1_000_000_000;
const SEED = 42;

export interface BenchKeys {
  /** Never refused. */
  readonly unlimited: string;
  /** Refused from the second request on, and never banned: its day allows one request, its minute any number. */
  readonly exhausted: string;
}

/** The databases of a run: copies of one that is migrated and holds the keys, each with orders of its own. */
export class Databases {
  readonly keys: BenchKeys;
  readonly #storage: Storage;
  readonly #filled = new Map<string, Promise<string>>();

  constructor(storage: Storage, keys: BenchKeys) {
    this.#storage = storage;
    this.keys = keys;
  }

  /**
   * A database with so many pending orders, their ids from 1 on without a gap, ready to be read.
   *
   * @param name the same name gives the same database
   * @returns its address
   */
  fill(name: string, count: number): Promise<string> {
    const known = this.#filled.get(name);
    if (known !== undefined) return known;
    const made = this.#make(name, count);
    this.#filled.set(name, made);
    return made;
  }

  async #make(name: string, count: number): Promise<string> {
    const url = this.#storage.databaseUrl(name);
    await runSql(this.#storage.databaseUrl('postgres'), `create database ${name} template ${TEMPLATE}`);
    await using persistence = openPersistence({ databaseUrl: url });
    await persistence.orders.generateOrders({ count, seed: SEED, now: new Date() });
    await runSql(url, 'vacuum (freeze, analyze)');
    // So that nothing is left to write during the measurements.
    await runSql(url, 'checkpoint');
    return url;
  }
}

const TEMPLATE = 'migrated';

export async function openDatabases(storage: Storage): Promise<Databases> {
  await runSql(storage.databaseUrl('postgres'), `create database ${TEMPLATE}`);
  await using persistence = openPersistence({ databaseUrl: storage.databaseUrl(TEMPLATE) });
  await persistence.migrations.migrate();
  const unlimited = await createKey(persistence, UNLIMITED);
  const exhausted = await createKey(persistence, 1);
  return new Databases(storage, { unlimited, exhausted });
}

async function createKey({ keyAdministration }: Persistence, perDay: number): Promise<string> {
  const id = generateApiKeyId(randomBytes);
  const text = generateApiKeyText('test', id, randomBytes);
  const plan = { name: 'enterprise', limits: { perMinute: UNLIMITED, perDay } } as const;
  const key = { id, name: 'benchmark', kind: 'external', plan, createdAt: new Date() } as const;
  await keyAdministration.createKey(key, hashApiKeyText(text));
  return text;
}

/** Runs one statement on a connection of its own. */
export async function runSql(databaseUrl: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
