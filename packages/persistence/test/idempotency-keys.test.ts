import {
  type Actor,
  actor,
  generateApiKeyId,
  IDEMPOTENCY_KEY_TTL_MS,
  IdempotencyKeyReusedError,
  type Order,
  parseIdempotencyKey,
  petId,
  SERVICE_ORIGIN,
} from '@petstore/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import { openPersistence, type Persistence } from '../src/index.ts';
import { NOW, newOrder, useTestStore } from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

const LATER = new Date(NOW.getTime() + 60_000);

const keyOf = (name: number): Actor =>
  actor(
    'key',
    generateApiKeyId((count) => new Uint8Array(count).fill(name)),
  );
interface Placement {
  readonly facts?: Parameters<typeof newOrder>[0];
  readonly caller?: Actor;
  readonly service?: Persistence;
}
const place = (
  text: string,
  { facts = {}, caller = keyOf(1), service = store.persistence }: Placement = {},
): Promise<Order> => {
  const idempotencyKey = parseIdempotencyKey(text);
  if (idempotencyKey === undefined) throw new Error(`not a key: ${text}`);
  return service.orders.insertOrder(
    newOrder(facts),
    { actor: caller, requestId: `request of ${text}` },
    idempotencyKey,
  );
};
const count = async (table: string) => Number((await store.query(`select count(*) from ${table}`)).rows[0]?.[0]);

describe('an order that is placed again with the same key', () => {
  test('is the same order, whatever became of it since', async () => {
    const placed = await place('a', { facts: { shipDate: NOW } });
    await store.persistence.orders.applyCommand(placed.id, 'cancel', NOW, SERVICE_ORIGIN);
    expect(await place('a', { facts: { shipDate: NOW, placedAt: LATER } })).toEqual(placed);
    expect(await count('orders')).toBe(1);
    expect(await count('order_events')).toBe(2);
  });

  test.each([
    ['another pet', { petId: petId(8n) }],
    ['another quantity', { quantity: 2 }],
    ['another ship date', { shipDate: LATER }],
    ['no ship date', {}],
  ])('is refused for %s', async (_, facts) => {
    await place('a', { facts: { shipDate: NOW } });
    await expect(place('a', { facts })).rejects.toThrow(IdempotencyKeyReusedError);
    expect(await count('orders')).toBe(1);
  });

  test('is another order to another caller, and where the key differs', async () => {
    const ids = [await place('a'), await place('a', { caller: keyOf(2) }), await place('A')];
    expect(new Set(ids.map(({ id }) => id)).size).toBe(3);
  });

  test('is one order of many calls at once, over two services', async () => {
    await using other = openPersistence({ databaseUrl: store.url });
    const services = [store.persistence, other];
    const calls = services.flatMap((service) =>
      Array.from({ length: 30 }, (_, i) => place(`key ${i % 6}`, { service })),
    );
    const orders = await Promise.all(calls);
    expect(new Set(orders.map(({ id }) => id)).size).toBe(6);
    expect(await count('orders')).toBe(6);
    expect(await count('order_events')).toBe(6);
  });

  test('is a new order once the key has been forgotten, a day later', async () => {
    const placed = await place('a');
    const dayLater = new Date(NOW.getTime() + IDEMPOTENCY_KEY_TTL_MS);
    expect(await place('a', { facts: { placedAt: new Date(dayLater.getTime() - 1) } })).toEqual(placed);
    const again = await place('a', { facts: { placedAt: dayLater } });
    expect(again.id).not.toBe(placed.id);
    expect(await place('a', { facts: { placedAt: dayLater } })).toEqual(again);
    expect(await count('idempotency_keys')).toBe(1);
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
