import { setTimeout as sleep } from 'node:timers/promises';
import { BEGINNING_OF_EVENTS as BEGINNING, type OrderEventId, SERVICE_ORIGIN } from '@petstore/domain';
import { PATIENTLY } from '@petstore/testing';
import pg from 'pg';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openPersistence } from '../src/index.ts';
import { NOW, newOrder, useTestStore } from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());
afterEach(() => vi.restoreAllMocks());

const place = () => store.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);

/** The ids of the page that a call is given. */
const pageOf = async (after: number, signal: AbortSignal) => {
  const page = await store.persistence.events.waitForEvents(BigInt(after) as OrderEventId, 10, signal); // of a test's log
  return page.events.map(({ id }) => Number(id));
};
const looksIn = (sent: { readonly mock: { readonly calls: readonly (readonly unknown[])[] } }) =>
  sent.mock.calls.filter((call) => JSON.stringify(call[0]).includes('find-order-event-bounds')).length;
const readsIn = (sent: { readonly mock: { readonly calls: readonly (readonly unknown[])[] } }) =>
  sent.mock.calls.filter((call) => JSON.stringify(call[0]).includes('"read-order-events"')).length;

test('calls that wait cost PostgreSQL the same however many they are: a look each half second, and one read for one position', async () => {
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  const beganMs = performance.now();
  const waiting = Array.from({ length: 100 }, () => pageOf(0, AbortSignal.timeout(30_000)));
  await sleep(1_600);
  expect(looksIn(sent)).toBeGreaterThanOrEqual(3);
  expect(looksIn(sent)).toBeLessThanOrEqual(1 + (performance.now() - beganMs) / 500);
  await place();
  store.persistence.events.wakeWaiting();
  expect(await Promise.all(waiting)).toEqual(Array(100).fill([1]));
  expect(readsIn(sent)).toBe(1);
  await sleep(600);
  const looks = looksIn(sent);
  await sleep(1_100);
  expect(looksIn(sent)).toBe(looks); // nobody waits
});

test('calls that wait are told at once of what is announced', async () => {
  const waitedMs: number[] = [];
  for (let last = 0; last < 5; last++) {
    const waiting = pageOf(last, AbortSignal.timeout(30_000));
    await sleep(50);
    await place();
    const beganMs = performance.now();
    store.persistence.events.wakeWaiting();
    expect(await waiting).toEqual([last + 1]);
    waitedMs.push(performance.now() - beganMs);
  }
  // The look before answered the last call, so the next one by the clock would come half a second after it.
  expect(Math.min(...waitedMs.slice(1))).toBeLessThan(250);
});

test('calls that wait hold no connection, and stand behind no page of orders, no change and no deletion', async () => {
  await using persistence = openPersistence({ databaseUrl: store.url, connections: 8 });
  const waiting = Array.from({ length: 50 }, () =>
    persistence.events.waitForEvents(BEGINNING, 10, AbortSignal.timeout(30_000)),
  );
  const inFlight = () => persistence.load().statementsInFlight;
  await sleep(100);
  await vi.waitFor(() => expect(inFlight().requests).toBe(0), PATIENTLY);
  const locked = new pg.Client(store.url);
  await locked.connect();
  await locked.query('begin; lock table orders, idempotency_keys in access exclusive mode');
  const { orders, events } = persistence;
  const work = [
    ...Array.from({ length: 20 }, (_, i) => orders.findOrders({ filter: {}, limit: i + 1 })),
    ...Array.from({ length: 20 }, () => orders.insertOrder(newOrder(), SERVICE_ORIGIN)),
    events.deleteExpired({ eventsBefore: NOW, now: NOW, signal: AbortSignal.timeout(30_000) }),
  ];
  const ended = Promise.allSettled(work);
  await vi.waitFor(() => expect(inFlight()).toMatchObject({ long: 20, writes: 21 }), PATIENTLY);
  await store.query(
    `insert into order_events (type, at, actor, order_id, pet_id, quantity, status, complete, placed_at)
     values ('order.placed', now(), 'service', 11, 1, 1, 'pending', false, now())`,
  );
  for (const { events: told } of await Promise.all(waiting)) expect(told).toHaveLength(1);
  expect((await events.readEvents(BEGINNING, 1)).events).toHaveLength(1); // nor does a page of events
  const { long, writes } = inFlight();
  expect(Math.min(long, writes)).toBeGreaterThan(0);
  await locked.end();
  await ended;
});

test('calls that wait get no more than they asked for, from the page that they share, and go on behind it', async () => {
  const waiting = [1, 5].map((limit) =>
    store.persistence.events.waitForEvents(BEGINNING, limit, AbortSignal.timeout(30_000)),
  );
  await store.persistence.orders.generateOrders({ count: 3, seed: 1, now: NOW });
  const pages = (await Promise.all(waiting)).map(({ events, nextAfter }) => [events.map(({ id }) => id), nextAfter]);
  expect(pages).toEqual([
    [[1n], 1n],
    [[1n, 2n, 3n], 3n],
  ]);
});

test('calls that wait end without events by their signal, whether it is aborted before or meanwhile', async () => {
  const stop = new AbortController();
  const waiting = pageOf(0, stop.signal);
  stop.abort();
  expect(await waiting).toEqual([]);
  expect(await pageOf(0, stop.signal)).toEqual([]);
});
