import { SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import { beforeEach, expect, test } from 'vitest';
import { setSession, shortSession } from '../src/database/connection.ts';
import { TIMEOUTS_MS } from '../src/database/timeouts.ts';
import { DELETE_EVENTS, DELETE_LATE_EVENTS } from '../src/delete-expired.ts';
import { EVENT, readEventsOf } from './event-support.ts';
import { NOW, newOrder, openClient, useTestStore } from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

const { takeIds, readPage, countEvents } = readEventsOf(store);
const AT = new Date(NOW.getTime() + 1_000);

const deleteExpired = (eventsBefore: Date) =>
  store.persistence.events.deleteExpired({ eventsBefore, now: NOW, signal: new AbortController().signal });

test('expired events are deleted from the oldest on, up to the first one that is kept', async () => {
  for (const minutes of [0, 1, 5, 2, 6]) {
    const placedAt = new Date(NOW.getTime() + minutes * 60_000);
    await store.persistence.orders.insertOrder(newOrder({ placedAt }), SERVICE_ORIGIN);
  }
  expect(await deleteExpired(new Date(NOW.getTime() + 3 * 60_000))).toBe(2);
  expect(await takeIds(0, 3)).toEqual([3, 4, 5]);
  expect(await takeIds(2, 3)).toEqual([3, 4, 5]);
  await expect(takeIds(1, 1)).rejects.toMatchObject({ reason: 'events_expired' });
  expect(await readPage(0, 2)).toEqual([[3, 4], 4]);
  expect(await readPage(2, 2)).toEqual([[3, 4], 4]);
  await expect(readPage(1)).rejects.toMatchObject({ reason: 'events_expired' });
  await expect(readPage(6)).rejects.toMatchObject({ reason: 'unknown_position' });
});

test('expired events are deleted by one service at a time, and the latest id stays known', async () => {
  await store.persistence.orders.generateOrders({ count: 2_500, seed: 1, now: NOW });
  const counts = await Promise.all([deleteExpired(AT), deleteExpired(AT), deleteExpired(AT)]);
  expect(counts.reduce((sum, count) => sum + count)).toBe(2_500);
  await expect(takeIds(2_501, 1)).rejects.toMatchObject({ reason: 'unknown_position' });
  expect(await readPage(0)).toEqual([[], 2_500]);
  expect(await readPage('now')).toEqual([[], 2_500]);
  const next = takeIds(2_500, 1);
  await store.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
  expect(await next).toEqual([2_501]);
});

test('expired events are deleted although idempotency keys cannot be, which is told', async () => {
  await store.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
  await using other = await openClient(store.url);
  await other.query('begin; lock table idempotency_keys in access exclusive mode');
  const failures: unknown[] = [];
  const deletedCount = await store.persistence.events.deleteExpired({
    eventsBefore: AT,
    now: NOW,
    signal: new AbortController().signal,
    onError: (rows, error) => failures.push([rows, error]),
  });
  expect(deletedCount).toBe(1);
  expect(failures).toEqual([['idempotency keys', expect.any(StorageUnavailableError)]]);
});

test('expired events are deleted, too, if they were committed after later ones had been deleted', async () => {
  await using other = await openClient(store.url);
  await other.query('begin');
  await other.query(EVENT, ['1']);
  await store.query(EVENT, ['2']);
  const later = new Date(Date.now() + 60_000); // they have PostgreSQL's time
  expect(await deleteExpired(later)).toBe(1);
  await other.query('commit');
  expect(await deleteExpired(later)).toBe(1);
  expect(await countEvents()).toBe(0);
});

test.each([
  { are: 'not read again by the next deletion', step: DELETE_EVENTS, blocksMax: 30 },
  { are: 'read again to find late ones, but no others are', step: DELETE_LATE_EVENTS, blocksMax: 120 },
])('deleted events are $are, beside a snapshot that still sees them', async ({ step, blocksMax }) => {
  await store.persistence.orders.generateOrders({ count: 5_000, seed: 1, now: NOW });
  await using snapshot = await openClient(store.url);
  await snapshot.query('begin isolation level repeatable read; select count(*) from order_events');
  await deleteExpired(AT);
  await store.persistence.orders.generateOrders({ count: 5_000, seed: 1, now: AT });
  await using client = await openClient(store.url);
  await setSession(client, shortSession, TIMEOUTS_MS);
  await client.query(`prepare step as ${step.text}`);
  const { rows } = await client.query<{
    readonly 'QUERY PLAN': readonly [{ readonly Plan: Record<string, number> }];
  }>(`explain (analyze, buffers, format json) execute step ('2026-01-01')`);
  expect(rows[0]?.['QUERY PLAN'][0].Plan['Shared Hit Blocks']).toBeLessThan(blocksMax);
});

test('expired events let the oldest be known that is kept', async () => {
  expect(await store.persistence.events.findOldest()).toBeUndefined();
  for (const placedAt of [NOW, AT]) await store.persistence.orders.insertOrder(newOrder({ placedAt }), SERVICE_ORIGIN);
  expect(await store.persistence.events.findOldest()).toEqual(NOW);
  await deleteExpired(AT);
  expect(await store.persistence.events.findOldest()).toEqual(AT);
});
