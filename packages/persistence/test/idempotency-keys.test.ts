import {
  type Actor,
  actor,
  type ChangeOrigin,
  fingerprintOf,
  generateApiKeyId,
  IDEMPOTENCY_KEY_TTL_MS,
  type IdempotencyKey,
  parseIdempotencyKey,
  petId,
  SERVICE_ORIGIN,
} from '@petstore/domain';
import pg from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import { openPersistence } from '../src/index.ts';
import { ORDER_COLUMNS, ORDER_FACTS } from '../src/orders/order-rows.ts';
import { NOW, newOrder, useTestStore } from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

const LATER = new Date(NOW.getTime() + 60_000);

const keyOf = (name: number): Actor =>
  actor(
    'key',
    generateApiKeyId((count) => new Uint8Array(count).fill(name)),
  );
interface Call {
  readonly origin: ChangeOrigin;
  readonly key: IdempotencyKey;
}

const calling = (text: string, who = keyOf(1)): Call => {
  const key = parseIdempotencyKey(text);
  if (key === undefined) throw new Error(`not a key: ${text}`);
  return { origin: { actor: who, requestId: `request of ${text}` }, key };
};
const place = ({ origin, key }: Call, facts: Parameters<typeof newOrder>[0] = {}) =>
  store.persistence.orders.insertOrder(newOrder(facts), origin, key);
const count = async (table: string) => Number((await store.query(`select count(*) from ${table}`)).rows[0]?.[0]);

describe('an order that is placed again with the same key', () => {
  test('is the same order, whatever became of it since', async () => {
    const { placed, order } = await place(calling('a'), { shipDate: NOW });
    expect(placed).toBe(true);
    await store.persistence.orders.applyCommand(order.id, 'cancel', NOW, SERVICE_ORIGIN);
    expect(await place(calling('a'), { shipDate: NOW, placedAt: LATER })).toEqual({ placed: false, order });
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
    await expect(place(calling('a'), facts)).rejects.toMatchObject({ reason: 'idempotency_key_reused' });
    expect(await count('orders')).toBe(1);
  });

  test('is another order to another caller, and where the key differs', async () => {
    const placed = [await place(calling('a')), await place(calling('a', keyOf(2))), await place(calling('A'))];
    expect(new Set(placed.map(({ order }) => order.id)).size).toBe(3);
  });

  test('is one order of many calls at once, over two services', async () => {
    await using other = openPersistence({ databaseUrl: store.url });
    const services = [store.persistence, other];
    const calls = Array.from({ length: 60 }, (_, i) => {
      const { origin, key } = calling(`key ${i % 6}`);
      return services[i % 2]?.orders.insertOrder(newOrder(), origin, key);
    });
    const placements = await Promise.all(calls);
    expect(new Set(placements.map((placement) => placement?.order.id)).size).toBe(6);
    expect(placements.filter((placement) => placement?.placed)).toHaveLength(6);
    expect(await count('orders')).toBe(6);
    expect(await count('order_events')).toBe(6);
  });

  test('is a new order once the key has been forgotten, a day later', async () => {
    const { order } = await place(calling('a'));
    const dayLater = new Date(NOW.getTime() + IDEMPOTENCY_KEY_TTL_MS);
    expect(await place(calling('a'), { placedAt: new Date(dayLater.getTime() - 1) })).toEqual({ placed: false, order });
    const again = await place(calling('a'), { placedAt: dayLater });
    expect(again.placed).toBe(true);
    expect(again.order.id).not.toBe(order.id);
    expect(await place(calling('a'), { placedAt: dayLater })).toEqual({ placed: false, order: again.order });
    expect(await count('idempotency_keys')).toBe(1);
  });
});

test('a call that waits for another with its key gets the order of that one', async () => {
  const first = new pg.Client(store.url);
  await first.connect();
  await first.query('begin');
  await first.query(
    `insert into orders (id, pet_id, quantity, status, complete, placed_at) values (77, 7, 1, 'pending', false, $1)`,
    [NOW],
  );
  await first.query(
    `insert into idempotency_keys (actor, idempotency_key, call, remembered_at, order_id, ${ORDER_FACTS})
     select $1, 'a', $2, $3, ${ORDER_COLUMNS} from orders where id = 77`,
    [keyOf(1), fingerprintOf(newOrder()), NOW],
  );
  const again = place(calling('a'));
  await new Promise((resolve) => setTimeout(resolve, 200));
  await first.query('commit');
  await first.end();
  expect(await again).toMatchObject({ placed: false, order: { id: 77n } });
  expect(await count('orders')).toBe(1);
});
