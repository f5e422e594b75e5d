import { setTimeout as sleep } from 'node:timers/promises';
import {
  actor,
  type EventPosition,
  type OrderEvent,
  type OrderEventId,
  OrderEventsExpiredError,
  orderId,
  SERVICE_ORIGIN,
  StorageUnavailableError,
  UnknownPositionError,
} from '@petstore/domain';
import { PATIENTLY, startPostgresServer } from '@petstore/testing';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openPersistence, type Persistence } from '../src/index.ts';
import {
  completedOrder,
  importOrders,
  NOW,
  newOrder,
  numbered,
  pendingOrder,
  shippedOrder,
  UNKNOWN_KEY_ID,
  useTestStore,
} from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());
afterEach(() => vi.restoreAllMocks());

const BEGINNING = 0n as OrderEventId;
const AT = new Date(NOW.getTime() + 1_000);
const ORIGIN = { actor: actor('key', UNKNOWN_KEY_ID), requestId: 'request-1' };

/** Follows until it has seen so many events. */
async function take(persistence: Persistence, after: EventPosition, count: number): Promise<readonly OrderEvent[]> {
  const stop = new AbortController();
  const batches = await persistence.events.followEvents(
    after,
    AbortSignal.any([stop.signal, AbortSignal.timeout(20_000)]),
  );
  const seen: OrderEvent[] = [];
  for await (const batch of batches) {
    seen.push(...batch);
    if (seen.length >= count) break;
  }
  stop.abort();
  return seen;
}

const place = () => store.persistence.orders.insertOrder(newOrder(), ORIGIN);
const cancel = (id: bigint) => store.persistence.orders.applyCommand(orderId(id), 'cancel', AT, ORIGIN);

describe('what is recorded', () => {
  test('an event for each change of an order, with the order as it then was', async () => {
    const { orders } = store.persistence;
    const placed = await place();
    const other = await orders.insertOrder(newOrder({ shipDate: AT, quantity: 3 }), ORIGIN);
    const shipped = await orders.applyCommand(placed.id, 'ship', AT, ORIGIN);
    const completed = await orders.applyCommand(placed.id, 'complete', AT, ORIGIN);
    const cancelled = await orders.applyCommand(other.id, 'cancel', NOW, SERVICE_ORIGIN);
    expect(await take(store.persistence, BEGINNING, 5)).toEqual([
      { id: 1n, type: 'order.placed', at: NOW, order: placed },
      { id: 2n, type: 'order.placed', at: NOW, order: other },
      { id: 3n, type: 'order.shipped', at: AT, order: shipped.order },
      { id: 4n, type: 'order.completed', at: AT, order: completed.order },
      { id: 5n, type: 'order.cancelled', at: NOW, order: cancelled.order },
    ]);
    const { rows } = await store.query('select actor, request_id from order_events order by id');
    expect(rows.slice(3)).toEqual([
      [`key:${UNKNOWN_KEY_ID}`, 'request-1'],
      ['service', null],
    ]);
  });

  test('of many commands at once each with its own origin', async () => {
    const ids = Array.from({ length: 50 }, (_, i) => BigInt(i + 1));
    await importOrders(store, ids.map(pendingOrder));
    await Promise.all(
      ids.map((id) =>
        store.persistence.orders.applyCommand(orderId(id), 'cancel', AT, { ...ORIGIN, requestId: `of "${id}"` }),
      ),
    );
    const { rows } = await store.query(
      `select count(*) from order_events where type = 'order.cancelled' and request_id = 'of "' || order_id || '"'`,
    );
    expect(rows).toEqual([['50']]);
  });

  test('nothing, where a command is refused', async () => {
    await importOrders(store, [shippedOrder(1n)]);
    await cancel(1n);
    await cancel(404n);
    expect((await store.query('select type from order_events')).rows).toEqual([['order.imported']]);
  });

  test('imported and generated orders, and none of an import that is undone', async () => {
    const { orders } = store.persistence;
    const imported = [pendingOrder(5n), completedOrder(-3n)];
    await orders.importOrders(numbered(imported), { origin: ORIGIN });
    await orders.importOrders(numbered([pendingOrder(5n), pendingOrder(6n)]));
    await orders.importOrders(numbered([pendingOrder(5n), pendingOrder(7n)]), { skipBad: true });
    await orders.generateOrders({ count: 3, seed: 1, now: AT, origin: ORIGIN });
    const events = await take(store.persistence, BEGINNING, 6);
    expect(events.map(({ type }) => type)).toEqual(Array(6).fill('order.imported'));
    expect(events.map(({ order }) => order.id).sort(ascending)).toEqual([-3n, 5n, 7n, 8n, 9n, 10n]);
    expect(events.find(({ order }) => order.id === -3n)).toMatchObject({
      at: completedOrder(-3n).completedAt,
      order: completedOrder(-3n),
    });
    const { rows } = await store.query(`select count(*) from order_events where actor = 'key:${UNKNOWN_KEY_ID}'`);
    expect(rows).toEqual([['5']]);
  });
});

const ascending = (a: bigint, b: bigint) => Number(a - b);

describe('followers', () => {
  test('see what is committed from when they begin', async () => {
    await place();
    const stop = new AbortController();
    const batches = await store.persistence.events.followEvents('now', stop.signal);
    const placed = await place();
    store.persistence.events.wakeFollowers();
    const seen: OrderEvent[] = [];
    for await (const batch of batches) {
      seen.push(...batch);
      stop.abort();
    }
    expect(seen).toMatchObject([{ type: 'order.placed', order: placed }]);
    expect(store.persistence.events.followerCount).toBe(0);
  });

  test('begin behind any position, whether an event has it or not', async () => {
    for (let i = 0; i < 5; i++) await place();
    await store.query('delete from order_events where id = 3');
    const after = async (id: bigint, count: number) =>
      (await take(store.persistence, id as OrderEventId, count)).map((event) => event.id);
    expect(await after(0n, 4)).toEqual([1n, 2n, 4n, 5n]);
    expect(await after(3n, 2)).toEqual([4n, 5n]);
    await expect(after(6n, 1)).rejects.toThrow(UnknownPositionError);
  });

  test('receive all events, also more than are kept in memory', async () => {
    await store.persistence.orders.generateOrders({ count: 12_000, seed: 1, now: NOW });
    const stop = new AbortController();
    const slow = await store.persistence.events.followEvents('now', stop.signal);
    const late = take(store.persistence, BEGINNING, 24_000);
    await store.persistence.orders.generateOrders({ count: 12_000, seed: 2, now: NOW });
    expect((await late).map(({ id }) => id)).toEqual(Array.from({ length: 24_000 }, (_, i) => BigInt(i + 1)));
    const seen: bigint[] = [];
    for await (const batch of slow) {
      seen.push(...batch.map(({ id }) => id));
      if (seen.length === 12_000) break;
    }
    stop.abort();
    expect(seen).toEqual(Array.from({ length: 12_000 }, (_, i) => BigInt(i + 12_001)));
  });

  test('wait behind a transaction that has drawn an id, and pass over one that is rolled back', async () => {
    await using open = await openClient();
    await using undone = await openClient();
    const all = take(store.persistence, BEGINNING, 4);
    await vi.waitFor(() => expect(store.persistence.events.followerCount).toBe(1), PATIENTLY);
    await place();
    await open.query('begin');
    await open.query(EVENT, ['11']);
    await undone.query('begin');
    await undone.query(EVENT, ['12']);
    await place();
    await sleep(300);
    await undone.query('rollback');
    await place();
    await sleep(300);
    await open.query('commit');
    const events = await all;
    expect(events.map(({ id }) => id)).toEqual([1n, 2n, 4n, 5n]);
    expect(events[1]?.order.id).toBe(11n);
  });

  test('who begin while a transaction is open see what it commits, or follow it', async () => {
    await using open = await openClient();
    await open.query('begin');
    await open.query(EVENT, ['11']);
    const beginning = take(store.persistence, 'now', 1);
    const beginningBefore = take(store.persistence, BEGINNING, 2);
    await sleep(200);
    await open.query('commit');
    await vi.waitFor(() => expect(store.persistence.events.followerCount).toBe(2), PATIENTLY);
    await sleep(200);
    await place();
    expect((await beginning).map(({ id }) => id)).toContain(1n);
    expect((await beginningBefore).map(({ id }) => id)).toEqual([1n, 2n]);
  });

  test('that cannot begin soon get an error, and leave nothing behind; the delay can be seen', async () => {
    await place();
    const { events } = store.persistence;
    await using open = await openClient();
    await open.query('begin');
    await open.query(EVENT, ['11']);
    const gone = new AbortController();
    const leaving = events.followEvents('now', gone.signal);
    const waiting = events.followEvents('now', new AbortController().signal);
    const begin = performance.now();
    setTimeout(() => gone.abort(new Error('gone')), 200);
    await Promise.all([
      expect(leaving).rejects.toThrow('gone'),
      expect(waiting).rejects.toThrow(StorageUnavailableError),
    ]);
    expect(performance.now() - begin).toBeLessThan(4_500);
    expect(events.followerCount).toBe(0);
    await open.query('rollback');

    const stop = new AbortController();
    const batches = await events.followEvents('now', stop.signal);
    expect(events.heldUpMs).toBe(0);
    await open.query('begin');
    await open.query(EVENT, ['12']);
    await place();
    await vi.waitFor(() => expect(events.heldUpMs).toBeGreaterThan(200), PATIENTLY);
    await open.query('commit');
    const seen: bigint[] = [];
    for await (const batch of batches) {
      seen.push(...batch.map(({ order }) => order.id));
      if (seen.length >= 2) break;
    }
    expect(seen).toContain(12n);
    expect(events.heldUpMs).toBe(0);
    stop.abort();
  });

  test('see every event once and in order while several services write', async () => {
    await using other = openPersistence({ databaseUrl: store.url });
    const services = [store.persistence, other];
    const wanted = 1_200;
    const following = [take(store.persistence, BEGINNING, wanted), take(other, BEGINNING, wanted)];
    const followingLate = sleep(50).then(() => take(other, BEGINNING, wanted));
    const write = async (service: Persistence) => {
      for (let i = 0; i < 100; i++) {
        const { id } = await service.orders.insertOrder(newOrder(), ORIGIN);
        await service.orders.applyCommand(id, i % 2 === 0 ? 'ship' : 'cancel', AT, ORIGIN);
      }
    };
    await Promise.all([...services, ...services, ...services].map(write));
    const stored = (await store.query('select id from order_events order by id')).rows.map(([id]) => BigInt(id ?? ''));
    expect(stored).toHaveLength(wanted);
    for (const events of await Promise.all([...following, followingLate])) {
      expect(events.map(({ id }) => id)).toEqual(stored);
      const seen = new Set<bigint>();
      for (const { type, order } of events) {
        expect(seen.has(order.id)).toBe(type !== 'order.placed');
        seen.add(order.id);
      }
    }
  });

  test('cost PostgreSQL the same however many they are', async () => {
    const stop = new AbortController();
    const followers = await Promise.all(
      Array.from({ length: 500 }, () => store.persistence.events.followEvents('now', stop.signal)),
    );
    const seen = followers.map(async (batches) => {
      for await (const batch of batches) return batch.map(({ id }) => id);
      return [];
    });
    const sent = vi.spyOn(pg.Client.prototype, 'query');
    await place();
    const ids = await Promise.all(seen);
    expect(ids).toEqual(Array(500).fill([1n]));
    expect(sent.mock.calls.length).toBeLessThan(50);
    expect(store.persistence.events.followerCount).toBe(0);
    stop.abort();
  });

  async function openClient() {
    const client = new pg.Client(store.url);
    await client.connect();
    return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
  }
});

const EVENT = `
  insert into order_events (type, at, actor, order_id, pet_id, quantity, status, complete, placed_at)
  values ('order.placed', now(), 'service', $1, 1, 1, 'pending', false, now())`;

describe('events that were kept for long enough', () => {
  const deleteExpired = (before: Date) =>
    store.persistence.events.deleteExpired(before, NOW, new AbortController().signal);

  test('are deleted from the oldest on, up to the first one that is kept', async () => {
    const placedAt = (minutes: number) => newOrder({ placedAt: new Date(NOW.getTime() + minutes * 60_000) });
    for (const minutes of [0, 1, 5, 2, 6]) {
      await store.persistence.orders.insertOrder(placedAt(minutes), ORIGIN);
    }
    expect(await deleteExpired(new Date(NOW.getTime() + 3 * 60_000))).toBe(2);
    const ids = async (after: bigint, count: number) =>
      (await take(store.persistence, after as OrderEventId, count)).map(({ id }) => id);
    expect(await ids(0n, 3)).toEqual([3n, 4n, 5n]);
    expect(await ids(2n, 3)).toEqual([3n, 4n, 5n]);
    await expect(ids(1n, 1)).rejects.toThrow(OrderEventsExpiredError);
  });

  test('are missed by a follower who is too slow, which is said', async () => {
    const stop = new AbortController();
    const batches = await store.persistence.events.followEvents('now', stop.signal);
    await store.persistence.orders.generateOrders({ count: 6_000, seed: 1, now: NOW });
    await vi.waitFor(
      async () => expect(await take(store.persistence, BEGINNING, 6_000)).toHaveLength(6_000),
      PATIENTLY,
    );
    await sleep(300);
    expect(await deleteExpired(AT)).toBe(6_000);
    const reading = async () => {
      for await (const _ of batches);
    };
    await expect(reading()).rejects.toThrow(OrderEventsExpiredError);
    stop.abort();
  });

  test('are deleted by one service at a time, and the latest id stays known', async () => {
    await store.persistence.orders.generateOrders({ count: 2_500, seed: 1, now: NOW });
    const counts = await Promise.all([deleteExpired(AT), deleteExpired(AT), deleteExpired(AT)]);
    expect(counts.reduce((sum, count) => sum + count)).toBe(2_500);
    await expect(take(store.persistence, 2_501n as OrderEventId, 1)).rejects.toThrow(UnknownPositionError);
    const next = take(store.persistence, 2_500n as OrderEventId, 1);
    await place();
    expect(await next).toMatchObject([{ id: 2_501n }]);
  });
});

test('followers go on when PostgreSQL is back', async () => {
  await using server = await startPostgresServer();
  await using persistence = openPersistence({ databaseUrl: server.url });
  await persistence.migrations.migrate();
  const following = take(persistence, BEGINNING, 2);
  await persistence.orders.insertOrder(newOrder(), ORIGIN);
  await sleep(300);
  await server.stop();
  await sleep(700);
  await server.restart();
  await vi.waitFor(() => persistence.orders.insertOrder(newOrder(), ORIGIN), { timeout: 10_000 });
  expect((await following).map(({ order }) => order.id)).toHaveLength(2);
});
