import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import { REPLICATION_PARAMETERS, startPostgresServer } from '@petstore/testing';
import pg from 'pg';
import { expect, test } from 'vitest';
import { openPersistence } from '../src/index.ts';
import { newOrder } from './support.ts';

const WRITE_CONNECTIONS = 2;

test('commits that wait for a standby that is away gather no processes, and those that can go on are used again', async () => {
  await using server = await startPostgresServer(REPLICATION_PARAMETERS);
  await using persistence = openPersistence({ databaseUrl: server.url, writeConnections: WRITE_CONNECTIONS });
  await persistence.migrations.migrate();
  await using client = Object.assign(new pg.Client(server.url), {
    async [Symbol.asyncDispose]() {
      await client.end();
    },
  });
  await client.connect();
  const requireStandby = async (name: string) => {
    await client.query(`alter system set synchronous_standby_names = '${name}'`);
    await client.query('select pg_reload_conf()');
    await expect
      .poll(async () => (await client.query('show synchronous_standby_names')).rows)
      .toEqual([{ synchronous_standby_names: name }]);
  };
  const place = () => persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);

  await place();
  await requireStandby('away');
  const failures: unknown[] = [];
  // Three times as long as it takes until a silent connection has been replaced by one that is silent, too.
  for (const begin = performance.now(); performance.now() - begin < 16_000; await sleep(100)) {
    void place().catch((error: unknown) => failures.push(error));
  }
  const { rows } = await client.query(`select from pg_stat_activity where wait_event = 'SyncRep'`);
  expect(rows.length).toBeGreaterThanOrEqual(WRITE_CONNECTIONS);
  expect(rows.length).toBeLessThanOrEqual(2 * WRITE_CONNECTIONS);
  expect(failures.length).toBeGreaterThan(0);
  for (const failure of failures) expect(failure).toBeInstanceOf(StorageUnavailableError);

  await requireStandby('');
  await expect.poll(() => place().then(() => 'placed', String), { timeout: 5_000, interval: 20 }).toBe('placed');
}, 90_000);
