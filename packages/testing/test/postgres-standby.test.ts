import pg from 'pg';
import { expect, test } from 'vitest';
import { REPLICATION_PARAMETERS, startPostgresServer, startPostgresStandby } from '../src/index.ts';

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

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
