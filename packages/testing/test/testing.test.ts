import { Redis } from 'ioredis';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import {
  createTestDatabase,
  createTestRedis,
  type DatabaseTemplate,
  REPLICATION_PARAMETERS,
  startPostgresServer,
  startPostgresStandby,
} from '../src/index.ts';

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('a test database', () => {
  test('is empty and its own', async () => {
    await using first = await createTestDatabase();
    await using second = await createTestDatabase();
    await query(first.url, 'CREATE TABLE only_here ()');
    const tables = `SELECT relname FROM pg_class WHERE relname = 'only_here'`;
    expect(await query(first.url, tables)).toHaveLength(1);
    expect(await query(second.url, tables)).toHaveLength(0);
  });

  test('is a copy of a template that is prepared once', async () => {
    let preparations = 0;
    const template: DatabaseTemplate = {
      name: 'prepared_once',
      async prepare(url) {
        preparations++;
        await query(url, 'CREATE TABLE pets AS SELECT 1 AS id');
      },
    };
    const databases = await Promise.all(Array.from({ length: 4 }, () => createTestDatabase({ template })));
    for (const database of databases) {
      expect(await query(database.url, 'SELECT id FROM pets')).toEqual([{ id: 1 }]);
      await database[Symbol.asyncDispose]();
    }
    expect(preparations).toBe(1);
  });

  test('complains of a connection that was left open, and is dropped all the same', async () => {
    const database = await createTestDatabase({ leakGraceMs: 200 });
    const leak = new pg.Client({ connectionString: database.url, application_name: 'the leak' });
    leak.on('error', () => {}); // its database is dropped
    await leak.connect();
    await leak.query('SELECT 42');
    await expect(database[Symbol.asyncDispose]()).rejects.toThrow(
      /left open:\n {2}the leak, idle, last query: SELECT 42/,
    );
    await expect(query(database.url, 'SELECT 1')).rejects.toThrow('does not exist');
    await leak.end();
  });
});

test('a test Redis is its own, and empty again afterwards', async () => {
  const first = await createTestRedis();
  await using second = await createTestRedis();
  const client = new Redis(first.url);
  const other = new Redis(second.url);
  await client.set('key', 'value');
  expect(await other.dbsize()).toBe(0);
  await first[Symbol.asyncDispose]();
  expect(await client.dbsize()).toBe(0);
  client.disconnect();
  other.disconnect();
});

test('a standby follows a running server, can be read from, and takes its place', async () => {
  await using primary = await startPostgresServer(REPLICATION_PARAMETERS);
  await query(primary.url, 'create table pets as select 1 as id');
  await using standby = await startPostgresStandby(primary);
  await query(primary.url, 'insert into pets values (2)');
  await expect
    .poll(() => query(standby.url, 'select id from pets'), { timeout: 30_000 })
    .toEqual([{ id: 1 }, { id: 2 }]);
  await expect(query(standby.url, 'insert into pets values (3)')).rejects.toThrow('read-only');
  await primary.kill();
  await standby.promote();
  await query(standby.url, 'insert into pets values (3)');

  await using next = await startPostgresStandby(standby, { port: primary.port });
  await expect.poll(() => query(next.url, 'select id from pets'), { timeout: 30_000 }).toHaveLength(3);
});

test('a synchronous standby has all that was acknowledged when the primary dies', async () => {
  await using primary = await startPostgresServer(REPLICATION_PARAMETERS);
  await query(primary.url, 'create table pets (id integer)');
  await using standby = await startPostgresStandby(primary, { synchronous: true });
  await query(primary.url, 'insert into pets select generate_series(1, 10000)');
  await primary.kill();
  await standby.promote();
  expect(await query(standby.url, 'select count(*)::int as count from pets')).toEqual([{ count: 10_000 }]);
  await query(standby.url, 'insert into pets values (3)'); // it waits for no standby of its own
});
