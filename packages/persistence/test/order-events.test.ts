import { setTimeout as sleep } from 'node:timers/promises';
import {
  actor,
  BEGINNING_OF_EVENTS as BEGINNING,
  type OrderEvent,
  type OrderEventId,
  orderId,
  SERVICE_ORIGIN,
  StorageUnavailableError,
} from '@petstore/domain';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openPersistence, type Persistence } from '../src/index.ts';
import { EVENT, readEventsOf, take, takeFrom } from './event-support.ts';
import {
  collect,
  completedOrder,
  followEvents,
  importOrders,
  NOW,
  newOrder,
  numbered,
  openClient,
  pendingOrder,
  UNKNOWN_KEY_ID,
  useTestStore,
} from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());
afterEach(() => vi.restoreAllMocks());

const { takeIds, readPage, countEvents } = readEventsOf(store);

const AT = new Date(NOW.getTime() + 1_000);
const ORIGIN = { actor: actor('key', UNKNOWN_KEY_ID), requestId: 'request-1' };

const place = async () => (await store.persistence.orders.insertOrder(newOrder(), ORIGIN)).order;

describe('what is recorded', () => {
  test('an event for each change of an order, with the order as it then was', async () => {
    const { orders } = store.persistence;
    const placed = await place();
    const { order: other } = await orders.insertOrder(newOrder({ shipDate: AT, quantity: 3 }), ORIGIN);
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
    const { orders } = store.persistence;
    const originOf = (id: bigint) => ({ ...ORIGIN, requestId: `of "${id}"` });
    await Promise.all(ids.map((id) => orders.applyCommand(orderId(id), 'cancel', AT, originOf(id))));
    const { rows } = await store.query(
      `select count(*) from order_events where type = 'order.cancelled' and request_id = 'of "' || order_id || '"'`,
    );
    expect(rows).toEqual([['50']]);
  });

  test('imported and generated orders, and none of an import that is undone or a command that is refused', async () => {
    const { orders } = store.persistence;
    const imported = [pendingOrder(5n), completedOrder(-3n)];
    await orders.importOrders(numbered(imported), { origin: ORIGIN });
    await orders.importOrders(numbered([pendingOrder(5n), pendingOrder(6n)]));
    await orders.importOrders(numbered([pendingOrder(5n), pendingOrder(7n)]), { skipBad: true });
    await orders.generateOrders({ count: 3, seed: 1, now: AT, origin: ORIGIN });
    await orders.applyCommand(orderId(-3n), 'cancel', AT, ORIGIN); // it is refused, and leaves no event
    const events = await take(store.persistence, BEGINNING, 6);
    expect(await countEvents()).toBe(6);
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

/** The same in steps: PostgreSQL locks the table, draws an id, and only then numbers the transaction. */
const LOCK = 'lock table order_events in row exclusive mode';
const DRAW_ID = `select nextval('order_events_id_seq')::text as id`;
const EVENT_WITH_ID = EVENT.replace('(type', '(id, type').replace('values (', 'values ($2, ');

/** Numbers from 0 up to, but not including, 1: the same for the same seed. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('followers, and who reads pages, miss nothing', () => {
  test('while ten writers commit in any order, or roll back', async () => {
    await using other = openPersistence({ databaseUrl: store.url });
    const LAST = 1_000n;
    /** All ids, by followers that leave after some batches each. */
    const follow = async (persistence: Persistence, batchesEach: number) => {
      const seen: OrderEvent[] = [];
      while (seen.at(-1)?.order.id !== LAST) {
        let count = 0;
        const after = seen.at(-1)?.id ?? BEGINNING;
        for await (const batch of await followEvents(persistence, after, AbortSignal.timeout(30_000))) {
          seen.push(...batch);
          if (++count === batchesEach || seen.at(-1)?.order.id === LAST) break;
        }
        if (count === 0) throw new Error('the last event has not come');
      }
      return seen.map(({ id }) => id.toString());
    };
    /** All ids, by pages of so many events. */
    const poll = async ({ events }: Persistence, limit: number) => {
      const seen: OrderEvent[] = [];
      for (let after: OrderEventId = BEGINNING; seen.at(-1)?.order.id !== LAST; await sleep(20)) {
        const page = await events.readEvents(after, limit).catch((error: unknown) => {
          if (!(error instanceof StorageUnavailableError)) throw error;
          return undefined; // on a busy machine: asked again, as every caller asks
        });
        if (page === undefined) continue;
        seen.push(...page.events);
        after = page.nextAfter;
      }
      return seen.map(({ id }) => id.toString());
    };
    const following = [
      follow(store.persistence, Number.POSITIVE_INFINITY),
      follow(store.persistence, 3),
      follow(other, Number.POSITIVE_INFINITY),
      sleep(200).then(() => follow(other, 3)),
      poll(store.persistence, 1_000),
      poll(other, 3),
    ];
    const write = async (random: () => number) => {
      await using client = await openClient(store.url);
      for (let i = 0; i < 25; i++) {
        await client.query('begin');
        if (random() < 0.5) await client.query(EVENT, [i]);
        else {
          await client.query(LOCK);
          const { rows } = await client.query<{ id: string }>(DRAW_ID);
          await sleep(random() * 20);
          await client.query(EVENT_WITH_ID, [i, rows[0]?.id]);
        }
        await sleep(random() * 20);
        await client.query(random() < 0.2 ? 'rollback' : 'commit');
      }
    };
    await Promise.all(Array.from({ length: 10 }, (_, i) => write(seededRandom(100 + i))));
    await store.query(EVENT, [LAST]);
    const stored = (await store.query('select id from order_events order by id')).rows.flat();
    expect(stored.length).toBeGreaterThan(150);
    expect(stored.length).toBeLessThan(250);
    for (const ids of await Promise.all(following)) expect(ids).toEqual(stored);
  });

  test('while several services write, and see the events of an order in the order of its changes', async () => {
    await using other = openPersistence({ databaseUrl: store.url });
    const following = [take(store.persistence, BEGINNING, 80), take(other, BEGINNING, 80)];
    const write = async ({ orders }: Persistence) => {
      for (let i = 0; i < 20; i++) {
        const { id } = (await orders.insertOrder(newOrder(), ORIGIN)).order;
        await orders.applyCommand(id, i % 2 === 0 ? 'ship' : 'cancel', AT, ORIGIN);
      }
    };
    await Promise.all([write(store.persistence), write(other)]);
    for (const events of await Promise.all(following)) {
      const placed = new Set<bigint>();
      for (const { type, order } of events) {
        expect(placed.has(order.id)).toBe(type !== 'order.placed');
        placed.add(order.id);
      }
      expect(placed.size).toBe(40);
    }
  });

  test('from when they begin, which is said', async () => {
    await place();
    const batches = await followEvents(store.persistence, 'now', AbortSignal.timeout(30_000));
    expect(batches.position).toBe(1n);
    const placed = await place();
    store.persistence.events.wakeWaiting();
    expect(await takeFrom(batches, 1)).toMatchObject([{ id: 2n, type: 'order.placed', order: placed }]);
  });

  test('behind any position, whether an event has it or not, and none is beyond the latest', async () => {
    for (let i = 0; i < 5; i++) await place();
    await store.query('delete from order_events where id = 3');
    expect(await takeIds(0, 4)).toEqual([1, 2, 4, 5]);
    expect(await takeIds(3, 2)).toEqual([4, 5]);
    await expect(takeIds(6, 1)).rejects.toMatchObject({ reason: 'unknown_position' });
  });

  test('of more events than a page has, when they are new and when they are slow', async () => {
    const count = 1_500;
    await store.persistence.orders.generateOrders({ count, seed: 1, now: NOW });
    const slow = await followEvents(store.persistence, 'now', AbortSignal.timeout(30_000));
    const late = takeIds(0, 2 * count);
    await store.persistence.orders.generateOrders({ count, seed: 2, now: NOW });
    const all = Array.from({ length: 2 * count }, (_, i) => i + 1);
    expect(await late).toEqual(all);
    expect((await takeFrom(slow, count)).map(({ id }) => Number(id))).toEqual(all.slice(count));
  });
});

describe('a page of events', () => {
  test('has as many as were asked for, and the next one goes on behind it, until there is nothing new', async () => {
    for (let i = 0; i < 5; i++) await place();
    expect(await readPage(0, 2)).toEqual([[1, 2], 2]);
    expect(await readPage(2, 2)).toEqual([[3, 4], 4]);
    expect(await readPage(4, 2)).toEqual([[5], 5]);
    expect(await readPage(5, 2)).toEqual([[], 5]);
    expect(await readPage(0, 5)).toEqual([[1, 2, 3, 4, 5], 5]);
  });

  test('goes through ids that were never committed', async () => {
    await using undone = await openClient(store.url);
    for (let i = 0; i < 3; i++) {
      await place();
      await undone.query(`begin; ${EVENT.replace('$1', '11')}; rollback`);
    }
    expect(await readPage(0, 2)).toEqual([[1, 3], 3]);
    expect(await readPage(3, 2)).toEqual([[5], 5]);
  });

  test('ends before an event that may still be committed, and does not wait for it long', async () => {
    await using open = await openClient(store.url);
    await place();
    await open.query('begin');
    await open.query(EVENT, [11]);
    await place();
    const begin = performance.now();
    expect(await readPage(0)).toEqual([[1], 1]);
    expect(await readPage(1)).toEqual([[], 1]);
    expect(performance.now() - begin).toBeLessThan(5_000);
    await open.query('commit');
    expect(await readPage(1)).toEqual([[2, 3], 3]);
  });

  test('has an event that is committed while it waits, and no more events for it than were asked for', async () => {
    await using open = await openClient(store.url);
    await place();
    await open.query('begin');
    await open.query(EVENT, [11]);
    await place();
    await place();
    const waiting = [readPage(0), readPage(0, 2), readPage(1, 1)];
    await sleep(200);
    await open.query('commit');
    expect(await Promise.all(waiting)).toEqual([
      [[1, 2, 3, 4], 4],
      [[1, 2], 2],
      [[2], 2],
    ]);
  });

  test('waits for those who write when it is asked for, and for none who begins later', async () => {
    await using open = await openClient(store.url);
    await using later = await openClient(store.url);
    await place();
    await open.query('begin');
    await open.query(EVENT, [11]);
    await place();
    const waiting = readPage(0);
    await sleep(200);
    await later.query('begin');
    await later.query(EVENT, [12]);
    await open.query('commit');
    expect(await waiting).toEqual([[1, 2, 3], 3]);
    await later.query('commit');
  });

  test('from now on is empty, and misses nothing that is committed afterwards', async () => {
    expect(await readPage('now')).toEqual([[], 0]);
    await using open = await openClient(store.url);
    await open.query('begin');
    await open.query(EVENT, [11]);
    await place();
    const waiting = readPage('now');
    await sleep(200);
    await open.query('commit');
    expect(await waiting).toEqual([[], 2]);
    await open.query('begin');
    await open.query(EVENT, [12]);
    await place();
    await expect(readPage('now')).rejects.toThrow(StorageUnavailableError);
    await open.query('commit');
    expect(await readPage(2)).toEqual([[3, 4], 4]);
  });
});

describe('followers wait', () => {
  test('for a transaction that has drawn an id, and not for one that is rolled back', async () => {
    await using open = await openClient(store.url);
    await using undone = await openClient(store.url);
    const following = takeIds(0, 4);
    await sleep(100);
    await place();
    await open.query('begin');
    await open.query(EVENT, [11]);
    await undone.query('begin');
    await undone.query(EVENT, [12]);
    await place();
    await sleep(200);
    await undone.query('rollback');
    await place();
    await sleep(200);
    await open.query('commit');
    expect(await following).toEqual([1, 2, 4, 5]);
  });

  test('for a transaction that is open when they begin, and see what it commits', async () => {
    await using open = await openClient(store.url);
    await open.query('begin');
    await open.query(EVENT, [11]);
    const following = [take(store.persistence, 'now', 2), take(store.persistence, BEGINNING, 2)];
    await sleep(200);
    await place();
    await open.query('commit');
    for (const events of await Promise.all(following)) expect(events.map(({ id }) => id)).toEqual([1n, 2n]);
  });

  test('for no transaction that writes no events, however long it is open', async () => {
    await using open = await openClient(store.url);
    await open.query('begin isolation level repeatable read');
    await open.query(`insert into pets (id, name) values (1, 'Rex')`);
    await open.query('select from order_events');
    await using undone = await openClient(store.url);
    await undone.query(`begin; ${EVENT.replace('$1', '11')}; rollback`);
    const batches = await followEvents(store.persistence, 'now', AbortSignal.timeout(30_000));
    await undone.query(`begin; ${EVENT.replace('$1', '12')}; rollback`);
    await place();
    expect((await takeFrom(batches, 1)).map(({ id }) => id)).toEqual([3n]);
    await open.query('rollback');
  });
});

test('followers are told if events that they have seen are lost, as by a failover', async () => {
  for (let i = 0; i < 3; i++) await place();
  const batches = await followEvents(store.persistence, 'now', AbortSignal.timeout(30_000));
  const lost = expect(collect(batches)).rejects.toMatchObject({ reason: 'unknown_position' });
  await store.query('delete from order_events where id > 1');
  await lost;
  const next = takeIds(1, 1);
  await place();
  expect(await next).toEqual([4]);
});
