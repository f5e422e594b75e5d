import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type OrderId, SERVICE_ORIGIN, StorageUnavailableError, type StoredOrder } from '@petstore/domain';
import {
  type MovingAddress,
  openMovingAddress,
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

/** What is promised from the moment on at which the address leads to the new primary. */
const RECOVERY = { timeout: 5_000, interval: 20 };

// Each test leaves a primary, to which the address leads, and a standby that has all that the primary acknowledges.
describe('a primary and its standby, behind one address', () => {
  let primary: PrivatePostgres;
  let standby: PostgresStandby;
  let address: MovingAddress;
  let persistence: Persistence;

  beforeAll(async () => {
    primary = await startPostgresServer(REPLICATION_PARAMETERS);
    standby = await startPostgresStandby(primary, { synchronous: true });
    address = await openMovingAddress(primary.url);
    persistence = openPersistence({ databaseUrl: address.url });
    await persistence.migrations.migrate();
  });
  afterAll(async () => {
    await persistence.close();
    await Promise.all([address, primary, standby].map((each) => each[Symbol.asyncDispose]()));
  });

  const place = () => persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
  const list = async (): Promise<readonly StoredOrder[]> =>
    (await collect(persistence.orders.listOrders())).flatMap((batch) => batch.orders);

  async function expectAllToWork(): Promise<void> {
    const { id } = (await place()).order;
    expect((await list()).at(-1)?.id).toBe(id);
    await persistence.ping();
    expect(await persistence.keyAdministration.findKey(UNKNOWN_KEY_ID)).toBeUndefined();
    expect(await persistence.orders.generateOrders({ count: 1, seed: 1, now: NOW })).toBe(1);
  }

  test.each<[string, () => Promise<void> | void]>([
    ['dies', () => primary.kill()],
    ['hangs', () => primary.pause()],
    ['lives on as a standby of the other', () => demote(primary, standby)],
  ])('serve on soon after a failover when the primary %s, and no cancel is lost', async (_, hurt) => {
    await persistence.orders.generateOrders({ count: 5_000, seed: 1, now: NOW });
    const pending = (await list()).flatMap(({ id, status }) => (status === 'pending' ? [id] : []));
    await using callers = cancelAll(persistence, pending);
    await expect.poll(() => callers.cancelled.length, PATIENTLY).toBeGreaterThan(50);
    // More than there are connections for commits, so that all of them are open, and then all of them are stuck.
    const placeMany = () => Promise.allSettled(Array.from({ length: 40 }, (_, i) => sleep(i).then(place)));
    await placeMany();
    await hurt();
    const placing = placeMany();
    await expect.poll(() => callers.failures.length, PATIENTLY).toBeGreaterThan(0);
    await placing;
    await standby.promote();
    await expect.poll(() => persistence.ping().then(() => 'up', String), PATIENTLY).not.toBe('up');
    address.moveTo(standby.url); // the connections that are open still lead to the former primary
    const countThen = callers.cancelled.length;
    await expect.poll(() => callers.cancelled.length, RECOVERY).toBeGreaterThan(countThen);
    await callers[Symbol.asyncDispose]();

    expect(callers.failures.filter((error) => !(error instanceof StorageUnavailableError))).toEqual([]);
    const statuses = new Map((await list()).map(({ id, status }) => [id, status]));
    expect(callers.cancelled.filter((id) => statuses.get(id) !== 'cancelled')).toEqual([]);
    await expectAllToWork();
    await primary[Symbol.asyncDispose]();
    primary = standby;
    standby = await startPostgresStandby(primary, { synchronous: true });
  });
});

/** Makes a primary a standby of its own standby, which has all that it acknowledged, and is promoted afterwards. */
async function demote(primary: PrivatePostgres, { port, url }: PostgresStandby): Promise<void> {
  const { username, password } = new URL(url);
  await runSql(
    primary.url,
    `alter system set primary_conninfo = 'host=127.0.0.1 port=${port} user=${username} password=${password}'`,
  );
  await primary.stop();
  writeFileSync(join(primary.cluster.folder, 'standby.signal'), '');
  await primary.restart();
}

test('commits that wait for a standby that is away gather few processes, and those that can go on are used again', async () => {
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
  // More than twice as long as it takes until a silent connection is replaced by one that is silent, too.
  for (const begin = performance.now(); performance.now() - begin < 70_000; await sleep(100)) {
    void place().catch((error: unknown) => failures.push(error));
  }
  const { rows } = await client.query(`select from pg_stat_activity where wait_event = 'SyncRep'`);
  expect(rows.length).toBeGreaterThanOrEqual(WRITE_CONNECTIONS);
  expect(rows.length).toBeLessThanOrEqual(2 * WRITE_CONNECTIONS);
  expect(failures.length).toBeGreaterThan(0);
  for (const failure of failures) expect(failure).toBeInstanceOf(StorageUnavailableError);

  await requireStandby('');
  await expect.poll(() => place().then(() => 'placed', String), { timeout: 5_000, interval: 20 }).toBe('placed');
}, 150_000);

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
