import { orderId, StorageUnavailableError } from '@petstore/domain';
import {
  type PostgresStandby,
  type PrivatePostgres,
  REPLICATION_PARAMETERS,
  startPostgresServer,
  startPostgresStandby,
} from '@petstore/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { openPersistence, type Persistence } from '../src/index.ts';
import { collect, NOBODY, NOW, newOrder, runSql } from './support.ts';

interface Pair extends AsyncDisposable {
  readonly primary: PrivatePostgres;
  readonly standby: PostgresStandby;
  readonly persistence: Persistence;
}

/** A server with a standby, and a store that knows the addresses of both, that of the standby first. */
async function openPair(): Promise<Pair> {
  await using resources = new AsyncDisposableStack();
  const primary = resources.use(await startPostgresServer(REPLICATION_PARAMETERS));
  const standby = resources.use(await startPostgresStandby(primary, { synchronous: true }));
  const persistence = resources.use(openPersistence({ databaseUrl: [standby.url, primary.url] }));
  await persistence.migrations.migrate();
  const owned = resources.move();
  return { primary, standby, persistence, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const place = ({ orders }: Persistence) => orders.insertOrder(newOrder());
const list = async ({ orders }: Persistence) => (await collect(orders.listOrders())).flat().map(({ id }) => id);

describe('several servers', () => {
  let pair: Pair;

  beforeEach(async () => {
    pair = await openPair();
    return () => pair[Symbol.asyncDispose]();
  });

  test('of which the first is a standby are read and written at the other, from the first request on', async () => {
    const { persistence } = pair;
    for (let count = 1; count <= 20; count++) {
      await place(persistence);
      expect(await list(persistence)).toHaveLength(count); // a standby might not have it yet
    }
    expect(await persistence.ping()).toEqual({ isReadOnly: false });
    expect(await persistence.keyAdministration.findKey(NOBODY)).toBeUndefined();
  });

  test.each([
    ['dies', (primary: PrivatePostgres) => primary.kill()],
    ['hangs', (primary: PrivatePostgres) => primary.pause()],
  ])(
    'serve again soon after the standby has taken over when the primary %s, and no cancel is lost',
    async (_, hurt) => {
      const { primary, standby, persistence } = pair;
      const { orders } = persistence;
      await orders.generateOrders({ count: 20_000, seed: 1, now: NOW });
      const acknowledged: bigint[] = [];
      const failures: unknown[] = [];
      let isStopped = false;
      let nextId = 1n;
      const callers = Array.from({ length: 8 }, async () => {
        while (!isStopped) {
          const id = orderId(nextId++);
          await orders.applyCommand(id, 'cancel', NOW).then(
            ({ applied }) => applied && acknowledged.push(id),
            (error) => failures.push(error),
          );
        }
      });
      await expect.poll(() => acknowledged.length, { timeout: 20_000 }).toBeGreaterThan(50);
      await hurt(primary);
      await expect.poll(() => failures.length, { timeout: 20_000 }).toBeGreaterThan(0);
      await standby.promote();
      const promotedAt = performance.now();
      const countThen = acknowledged.length;
      await expect.poll(() => acknowledged.length, { timeout: 25_000, interval: 20 }).toBeGreaterThan(countThen);
      console.log(performance.now() - promotedAt); // a second or less; five are promised
      isStopped = true;
      await Promise.all(callers);

      expect(failures.filter((error) => !(error instanceof StorageUnavailableError))).toEqual([]);
      const cancelled = new Set(
        (await collect(orders.listOrders())).flat().flatMap(({ id, status }) => (status === 'cancelled' ? [id] : [])),
      );
      expect(acknowledged.filter((id) => !cancelled.has(orderId(id)))).toEqual([]);
      expect(await persistence.ping()).toEqual({ isReadOnly: false });
      expect(await persistence.keyAdministration.findKey(NOBODY)).toBeUndefined();
      await orders.generateOrders({ count: 1, seed: 1, now: NOW });
    },
  );

  test('of which none takes writes are read, and written again when one does', async () => {
    const { primary, standby, persistence } = pair;
    const placed = await place(persistence);
    await primary.kill();
    await expect.poll(() => list(persistence).catch(() => []), { timeout: 20_000 }).toEqual([placed.id]);
    await expect(place(persistence)).rejects.toThrow('read-only');
    await expect(place(persistence)).rejects.toThrow(StorageUnavailableError);
    expect(await persistence.ping()).toEqual({ isReadOnly: true });
    await standby.promote();
    await expect.poll(() => place(persistence).catch(() => undefined), { timeout: 20_000 }).toBeDefined();
    await expect.poll(() => persistence.ping(), { timeout: 20_000 }).toEqual({ isReadOnly: false });
  });

  test('are left, one by one, when they become read-only', async () => {
    const { primary, persistence } = pair;
    await Promise.all(Array.from({ length: 20 }, () => place(persistence)));
    await runSql(primary.url, 'alter system set default_transaction_read_only = on');
    await runSql(primary.url, 'select pg_reload_conf()');
    const isRefused = () => place(persistence).then(() => '', String);
    await expect.poll(isRefused, { timeout: 20_000 }).toContain('read-only');
    await pair.standby.promote();
    // What is read now may be at the one that was left no more.
    await expect
      .poll(
        () =>
          place(persistence).then(
            ({ id }) => id,
            () => undefined,
          ),
        { timeout: 20_000 },
      )
      .toBeDefined();
    const { id } = await place(persistence);
    await expect.poll(() => list(persistence).then((ids) => ids.includes(id)), { timeout: 20_000 }).toBe(true);
  });
});
