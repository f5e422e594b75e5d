import {
  type Actor,
  actor,
  type ChangeOrigin,
  generateApiKeyId,
  IDEMPOTENCY_KEY_TTL_MS,
  IdempotencyKeyReusedError,
  orderId,
  parseIdempotencyKey,
  petId,
  SERVICE_ORIGIN,
} from '@petstore/domain';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openPersistence } from '../src/index.ts';
import { importOrders, NOW, newOrder, pendingOrder, shippedOrder, statementsIn, useTestStore } from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());
afterEach(() => vi.restoreAllMocks());

const LATER = new Date(NOW.getTime() + 60_000);

const keyOf = (name: number): Actor =>
  actor(
    'key',
    generateApiKeyId((count) => new Uint8Array(count).fill(name)),
  );
const calling = (text: string, who = keyOf(1)): ChangeOrigin => {
  const idempotencyKey = parseIdempotencyKey(text);
  if (idempotencyKey === undefined) throw new Error(`not a key: ${text}`);
  return { actor: who, requestId: `request of ${text}`, idempotencyKey };
};
const cancel = (id: bigint, origin: ChangeOrigin, now = NOW) =>
  store.persistence.orders.applyCommand(orderId(id), 'cancel', now, origin);
const place = (origin: ChangeOrigin, facts: Parameters<typeof newOrder>[0] = {}) =>
  store.persistence.orders.insertOrder(newOrder(facts), origin);
const count = async (table: string) => Number((await store.query(`select count(*) from ${table}`)).rows[0]?.[0]);

describe('an order that is placed again with the same key', () => {
  test('is the same order, whatever became of it since', async () => {
    const placed = await place(calling('a'), { shipDate: NOW });
    await cancel(placed.id, SERVICE_ORIGIN);
    expect(await place(calling('a'), { shipDate: NOW, placedAt: LATER })).toEqual(placed);
    expect(await count('orders')).toBe(1);
    expect(await count('order_events')).toBe(2);
  });

  test.each([
    ['another pet', { petId: petId(8n) }],
    ['another quantity', { quantity: 2 }],
    ['another ship date', { shipDate: LATER }],
    ['no ship date', {}],
  ])('is refused for %s', async (_, facts) => {
    await place(calling('a'), facts === undefined ? {} : { shipDate: NOW });
    await expect(place(calling('a'), facts)).rejects.toThrow(IdempotencyKeyReusedError);
    expect(await count('orders')).toBe(1);
  });

  test('is another order to another caller, and where the key differs', async () => {
    const ids = [await place(calling('a')), await place(calling('a', keyOf(2))), await place(calling('A'))];
    expect(new Set(ids.map(({ id }) => id)).size).toBe(3);
  });

  test('is one order of many calls at once, over two services', async () => {
    await using other = openPersistence({ databaseUrl: store.url });
    const services = [store.persistence, other];
    const calls = Array.from({ length: 60 }, (_, i) =>
      services[i % 2]?.orders.insertOrder(newOrder(), calling(`key ${i % 6}`)),
    );
    const orders = await Promise.all(calls);
    expect(new Set(orders.map((order) => order?.id)).size).toBe(6);
    expect(await count('orders')).toBe(6);
    expect(await count('order_events')).toBe(6);
  });

  test('is a new order once the key has been forgotten, a day later', async () => {
    const placed = await place(calling('a'));
    const dayLater = new Date(NOW.getTime() + IDEMPOTENCY_KEY_TTL_MS);
    expect(await place(calling('a'), { placedAt: new Date(dayLater.getTime() - 1) })).toEqual(placed);
    const again = await place(calling('a'), { placedAt: dayLater });
    expect(again.id).not.toBe(placed.id);
    expect(await place(calling('a'), { placedAt: dayLater })).toEqual(again);
    expect(await count('idempotency_keys')).toBe(1);
  });
});

describe('a command that is given again with the same key', () => {
  test('gets the result of the first time', async () => {
    await importOrders(store, [pendingOrder(1n)]);
    const first = await cancel(1n, calling('a'));
    expect(first).toMatchObject({ applied: true, order: { status: 'cancelled', cancelledAt: NOW } });
    expect(await cancel(1n, calling('a'), LATER)).toEqual(first);
    expect(await cancel(1n, calling('b'), LATER)).toMatchObject({ applied: false });
    expect(await count('order_events')).toBe(2);
  });

  test('gets it although the order has changed since', async () => {
    await importOrders(store, [pendingOrder(1n)]);
    const apply = (command: 'ship' | 'complete', key: string, now = NOW) =>
      store.persistence.orders.applyCommand(orderId(1n), command, now, calling(key));
    const shipped = await apply('ship', 'a');
    await apply('complete', 'b', LATER);
    expect(await apply('ship', 'a', LATER)).toEqual(shipped);
    expect(shipped).toMatchObject({ applied: true, order: { complete: false } });
  });

  test('is refused where the key belongs to another command or order', async () => {
    await importOrders(store, [pendingOrder(1n), pendingOrder(2n), shippedOrder(3n)]);
    await cancel(1n, calling('a'));
    await expect(cancel(2n, calling('a'))).rejects.toThrow(IdempotencyKeyReusedError);
    const completing = store.persistence.orders.applyCommand(orderId(3n), 'complete', NOW, calling('a'));
    await expect(completing).rejects.toThrow(IdempotencyKeyReusedError);
    await expect(place(calling('a'))).rejects.toThrow(IdempotencyKeyReusedError);
    expect(await cancel(2n, calling('b'))).toMatchObject({ applied: true });
  });

  test('is decided anew where it was refused', async () => {
    await importOrders(store, [shippedOrder(1n)]);
    const complete = () => store.persistence.orders.applyCommand(orderId(2n), 'complete', NOW, calling('a'));
    expect(await complete()).toEqual({ applied: false, order: undefined });
    await importOrders(store, [shippedOrder(2n)]);
    expect(await complete()).toMatchObject({ applied: true });
  });

  test('is carried out anew a day later', async () => {
    await importOrders(store, [pendingOrder(1n), pendingOrder(2n)]);
    await cancel(1n, calling('a'));
    const dayLater = new Date(NOW.getTime() + IDEMPOTENCY_KEY_TTL_MS);
    expect(await cancel(1n, calling('a'), new Date(dayLater.getTime() - 1))).toMatchObject({ applied: true });
    expect(await cancel(2n, calling('a'), dayLater)).toMatchObject({ applied: true, order: { id: 2n } });
    await expect(cancel(1n, calling('a'), dayLater)).rejects.toThrow(IdempotencyKeyReusedError);
  });

  test('costs one statement each time, and one for many orders at once', async () => {
    await importOrders(
      store,
      Array.from({ length: 40 }, (_, i) => pendingOrder(BigInt(i + 1))),
    );
    await cancel(-1n, calling('warm'));
    const sent = vi.spyOn(pg.Client.prototype, 'query');
    const cancelAll = () =>
      Promise.all(Array.from({ length: 40 }, (_, i) => cancel(BigInt(i + 1), calling(`"${i}" \\`))));
    const first = await cancelAll();
    expect(await cancelAll()).toEqual(first);
    expect(first.every(({ applied }) => applied)).toBe(true);
    expect(statementsIn(sent)).toHaveLength(2);
  });

  test('is applied once of many at once, and the others get the same result', async () => {
    await importOrders(store, [pendingOrder(1n)]);
    await using other = openPersistence({ databaseUrl: store.url });
    const doors = [store.persistence, other];
    const calls = Array.from({ length: 40 }, (_, i) =>
      doors[i % 2]?.orders.applyCommand(orderId(1n), 'cancel', NOW, calling(`key ${i % 4}`)),
    );
    const transitions = await Promise.all(calls);
    const appliedKeys = new Set(transitions.flatMap((each, i) => (each?.applied === true ? [i % 4] : [])));
    expect(appliedKeys.size).toBe(1);
    expect(transitions.filter((each) => each?.applied)).toHaveLength(10);
    expect(await count('order_events')).toBe(2);
  });

  test('of two orders with one key at once carries one of them out', async () => {
    await importOrders(store, [pendingOrder(1n), pendingOrder(2n), pendingOrder(3n)]);
    const outcomes = await Promise.allSettled([
      cancel(1n, calling('a')),
      cancel(2n, calling('a')),
      cancel(3n, calling('b')),
    ]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(outcomes[2]).toMatchObject({ status: 'fulfilled' });
    expect(await count(`orders where status = 'cancelled'`)).toBe(2);
  });

  test('waits for the first one where that still holds the order', async () => {
    await importOrders(store, [pendingOrder(1n)]);
    const first = new pg.Client(store.url);
    await first.connect();
    await first.query('begin');
    await first.query(`update orders set status = 'cancelled', cancelled_at = $1 where id = 1`, [NOW]);
    await first.query(
      `insert into idempotency_keys
       select $1, 'a', 'cancel 1', $2, id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at,
         completed_at, cancelled_at from orders where id = 1`,
      [keyOf(1), NOW],
    );
    const again = cancel(1n, calling('a'), LATER);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await first.query('commit');
    await first.end();
    expect(await again).toMatchObject({ applied: true, order: { cancelledAt: NOW } });
  });
});

test.each([
  ['1 character', ' ', true],
  ['255 characters', '~'.repeat(255), true],
  ['no character', '', false],
  ['256 characters', '~'.repeat(256), false],
  ['a line end', 'a\n', false],
  ['a letter beyond ASCII', 'ä', false],
])('a key of %s', (_, text, isKey) => {
  expect(parseIdempotencyKey(text)).toBe(isKey ? text : undefined);
});
