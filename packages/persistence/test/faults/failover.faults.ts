import { setTimeout as sleep } from 'node:timers/promises';
import { type Order, type OrderId, SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import {
  PATIENTLY,
  type PostgresStandby,
  type PrivatePostgres,
  REPLICATION_PARAMETERS,
  startPostgresServer,
  startPostgresStandby,
} from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPersistence, type Persistence } from '../../src/index.ts';
import { collect, NOW, newOrder, runSql, UNKNOWN_KEY_ID } from '../support.ts';

const WRITE_CONNECTIONS = 2;

/** What is promised from a promotion on; a fifth of a second is usual. */
const RECOVERY = { timeout: 5_000, interval: 20 };

// Each test leaves a primary, and a standby that has all that the primary acknowledges.
describe('a primary and its standby', () => {
  let primary: PrivatePostgres;
  let standby: PostgresStandby;
  let persistence: Persistence;

  beforeAll(async () => {
    primary = await startPostgresServer(REPLICATION_PARAMETERS);
    standby = await startPostgresStandby(primary, { synchronous: true });
    persistence = openPersistence({ databaseUrl: [standby.url, primary.url] });
    await persistence.migrations.migrate();
  });
  afterAll(async () => {
    await persistence.close();
    await Promise.all([primary, standby].map((server) => server[Symbol.asyncDispose]()));
  });

  const place = () => persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
  const list = async (): Promise<readonly Order[]> =>
    (await collect(persistence.orders.listOrders())).flatMap((batch) => batch.orders);
  const untilPlaced = () => expect.poll(() => place().catch(() => undefined), PATIENTLY).toBeDefined();
  const outcomeOfPlacing = () => place().then(() => 'placed', String);

  async function expectAllToWork(): Promise<void> {
    const { id } = (await place()).order;
    expect((await list()).at(-1)?.id).toBe(id);
    expect(await persistence.ping()).toEqual({ isReadOnly: false });
    expect(await persistence.keyAdministration.findKey(UNKNOWN_KEY_ID)).toBeUndefined();
    expect(await persistence.orders.generateOrders({ count: 1, seed: 1, now: NOW })).toBe(1);
  }

  test('are distinguished: what is read is what was just written, although the standby is named first', async () => {
    for (let count = 0; count < 20; count++) {
      const { id } = (await place()).order;
      expect((await list()).at(-1)?.id).toBe(id); // the standby might not show it yet
    }
    await expectAllToWork();
  });

  test('are one for reading while the primary is away, and both again when it is back', async () => {
    const orders = await list();
    await primary.kill();
    await expect.poll(() => list().catch(String), PATIENTLY).toEqual(orders);
    await expect.poll(outcomeOfPlacing, PATIENTLY).toContain('read-only');
    await expect(place()).rejects.toThrow(StorageUnavailableError);
    expect(await persistence.ping()).toEqual({ isReadOnly: true });
    await primary.restart();
    await untilPlaced();
    await expect.poll(() => persistence.ping(), PATIENTLY).toEqual({ isReadOnly: false });
    await expectAllToWork();
  });

  test('are one for reading while the primary hangs, and those that want to write learn so at once', async () => {
    const orders = await list();
    primary.pause();
    await expect.poll(outcomeOfPlacing, PATIENTLY).toContain('read-only');
    await expect.poll(() => list().catch(String), PATIENTLY).toEqual(orders);
    const begin = performance.now();
    for (let i = 0; i < 10; i++) expect(await outcomeOfPlacing()).toContain('read-only');
    expect(await persistence.ping()).toEqual({ isReadOnly: true });
    expect(performance.now() - begin).toBeLessThan(10_000); // each would wait for two seconds to be connected
    primary.resume();
    await untilPlaced();
    await expect.poll(() => persistence.ping(), PATIENTLY).toEqual({ isReadOnly: false });
    await expectAllToWork();
  });

  test('are not left for the standby while the primary serves, and only accepts no further connection', async () => {
    const { pid } = primary;
    await persistence.orders.generateOrders({ count: 500, seed: 1, now: NOW }); // a list of several batches
    const orders = (await list()).length;
    await place();
    process.kill(pid, 'SIGSTOP'); // the one that accepts connections; those that there are go on
    try {
      // More lists at once than connections that are open.
      const lists = Array.from({ length: 8 }, () =>
        list().then(
          ({ length }) => length,
          () => orders + 1,
        ),
      );
      expect(await place()).toBeDefined();
      expect(await Promise.all(lists)).not.toContain(orders);
      expect(await place()).toBeDefined();
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await expectAllToWork();
  });

  test('are both read-only while writes are forbidden at the primary', async () => {
    const { length } = await list();
    await runSql(primary.url, 'alter system set default_transaction_read_only = on');
    await runSql(primary.url, 'select pg_reload_conf()');
    await expect.poll(outcomeOfPlacing, PATIENTLY).toContain('read-only');
    await expect.poll(() => persistence.ping(), PATIENTLY).toEqual({ isReadOnly: true });
    expect((await list()).length).toBeGreaterThanOrEqual(length);
    await runSql(primary.url, 'alter system reset default_transaction_read_only');
    await runSql(primary.url, 'select pg_reload_conf()');
    await untilPlaced();
    await expect.poll(() => persistence.ping(), PATIENTLY).toEqual({ isReadOnly: false });
    await expectAllToWork();
  });

  test.each([
    ['dies', (server: PrivatePostgres) => server.kill()],
    ['hangs', (server: PrivatePostgres) => server.pause()],
  ])('serve on soon after a failover when the primary %s, and no cancel is lost', async (_, hurt) => {
    await persistence.orders.generateOrders({ count: 5_000, seed: 1, now: NOW });
    const pending = (await list()).flatMap(({ id, status }) => (status === 'pending' ? [id] : []));
    await using callers = cancelAll(persistence, pending);
    await expect.poll(() => callers.cancelled.length, PATIENTLY).toBeGreaterThan(50);
    // More than there are connections for commits, so that all of them are open, and then all of them are stuck.
    const placeMany = () => Promise.allSettled(Array.from({ length: 40 }, (_, i) => sleep(i).then(place)));
    await placeMany();
    await hurt(primary);
    const placing = placeMany();
    await expect.poll(() => callers.failures.length, PATIENTLY).toBeGreaterThan(0);
    await placing;
    await standby.promote();
    const countThen = callers.cancelled.length;
    await expect.poll(() => callers.cancelled.length, RECOVERY).toBeGreaterThan(countThen);
    await callers[Symbol.asyncDispose]();

    expect(callers.failures.filter((error) => !(error instanceof StorageUnavailableError))).toEqual([]);
    const statuses = new Map((await list()).map(({ id, status }) => [id, status]));
    expect(callers.cancelled.filter((id) => statuses.get(id) !== 'cancelled')).toEqual([]);
    await expectAllToWork();
    await primary[Symbol.asyncDispose]();
    const { port } = primary;
    primary = standby;
    standby = await startPostgresStandby(primary, { port, synchronous: true });
  });
});

test('commits that wait for a standby that is away gather no processes, and those that can go on are used again', async () => {
  await using server = await startPostgresServer(REPLICATION_PARAMETERS);
  await using persistence = openPersistence({ databaseUrl: server.url, connections: 2 * WRITE_CONNECTIONS });
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

/** Eight callers that cancel one order after the other, whatever comes of it. */
function cancelAll({ orders }: Persistence, ids: readonly OrderId[]) {
  const cancelled: OrderId[] = [];
  const failures: unknown[] = [];
  const waiting = [...ids];
  const callers = Array.from({ length: 8 }, async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      const begin = performance.now();
      const order = id;
      await orders.applyCommand(order, 'cancel', NOW, SERVICE_ORIGIN).then(
        ({ applied }) => applied && cancelled.push(order),
        (error: unknown) => failures.push(error),
      );
      // So that there is something left to cancel when the servers are back.
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, begin + 10 - performance.now())));
    }
  });
  return {
    cancelled,
    failures,
    async [Symbol.asyncDispose]() {
      waiting.length = 0;
      await Promise.all(callers);
    },
  };
}
