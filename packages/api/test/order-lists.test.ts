import { INT64_MAX, INT64_MIN, type Order, orderId, petId, SHIP_DATE_MAX, SHIP_DATE_MIN } from '@petstore/domain';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { orderToJson } from '../src/rest/order-json.ts';
import { PACKED_ORDERS, unpackOrders } from '../src/trpc/packed-orders.ts';
import { pendingOrder, readText, startTestApi, type TestApi } from './test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api[Symbol.asyncDispose]());

async function listedPacked({ services }: TestApi): Promise<Order[]> {
  const orders: Order[] = [];
  for await (const { text } of services.orders.listOrders().as(PACKED_ORDERS)) orders.push(...unpackOrders(text));
  return orders;
}

const listedText = async (service: TestApi) => readText(await service.callRest('listOrders'));

/** The JSON of an order in v2 has one field more than in v1. */
const toV1Json = (order: Order) => orderToJson(order).replace(/,"status":"\w+"}$/, '}');

const int64 = fc.oneof(
  fc.bigInt({ min: INT64_MIN, max: INT64_MAX }),
  fc.constantFrom(INT64_MIN, INT64_MIN + 1n, -1n, 0n, 1n, INT64_MAX - 1n, INT64_MAX),
);
const time = fc.oneof(
  fc.date({ min: SHIP_DATE_MIN, max: SHIP_DATE_MAX, noInvalidDate: true }),
  fc.constantFrom(SHIP_DATE_MIN, SHIP_DATE_MAX, new Date(0), new Date(-1), new Date('2026-01-02T03:04:05.060Z')),
);
const state = fc.oneof(
  fc.record({ status: fc.constant('pending' as const), complete: fc.constant(false as const) }),
  fc.record({ status: fc.constant('shipped' as const), complete: fc.constant(false as const), shippedAt: time }),
  fc.record({
    status: fc.constant('shipped' as const),
    complete: fc.constant(true as const),
    shippedAt: time,
    completedAt: time,
  }),
  fc.record({ status: fc.constant('cancelled' as const), complete: fc.constant(false as const), cancelledAt: time }),
);
const anyOrder: fc.Arbitrary<Order> = fc
  .record({
    id: int64.map(orderId),
    petId: int64.map(petId),
    quantity: fc.oneof(fc.integer({ min: 1, max: 2_147_483_647 }), fc.constantFrom(1, 2_147_483_647)),
    placedAt: time,
    shipDate: fc.option(time, { nil: undefined }),
    state,
  })
  .map(({ state: ownState, shipDate, ...facts }) => ({ ...facts, ...ownState, ...(shipDate && { shipDate }) }));

test('JSON and packed lists hold exactly what is stored, whatever the orders', async () => {
  const anyOrders = fc.uniqueArray(anyOrder, { selector: ({ id }) => id, minLength: 200, maxLength: 600, size: 'max' });
  await fc.assert(
    fc.asyncProperty(anyOrders, async (orders) => {
      await using fresh = await startTestApi();
      await fresh.importOrders(...orders);
      const sorted = orders.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      expect(await listedPacked(fresh)).toEqual(sorted);
      expect(await listedText(fresh)).toBe(`[${sorted.map(toV1Json).join()}]`);
    }),
    { numRuns: 8, endOnFailure: true }, // to make hundreds of orders fewer, one by one, would take minutes
  );
});

test.each([0, 1, 249, 250, 251, 4_249, 4_250, 4_251])('a list of %i orders is one JSON array', async (count) => {
  await using fresh = await startTestApi();
  if (count > 0) await fresh.persistence.orders.generateOrders({ count, seed: 1, now: new Date() });
  const ids = Array.from({ length: count }, (_, i) => ({ id: i + 1 }));
  const listed: unknown = JSON.parse(await listedText(fresh));
  expect(listed).toHaveLength(count);
  expect(listed).toMatchObject(ids);
  expect((await listedPacked(fresh)).map(({ id }) => ({ id: Number(id) }))).toEqual(ids);
});

describe('packed orders', () => {
  const LINE = '-5,7,2,pending,2026-11-01T08:00:00.000Z,,,,;';

  test('are read as they are described', () => {
    expect(unpackOrders(LINE)).toEqual([pendingOrder(-5n)]);
    expect(unpackOrders(LINE + LINE)).toEqual([pendingOrder(-5n), pendingOrder(-5n)]);
    expect(unpackOrders('')).toEqual([]);
  });

  test.each([
    ['end within an order', LINE.slice(0, -1)],
    ['end within a batch', LINE + LINE.slice(0, 9)],
    ['lack a field', LINE.replace(',', '')],
    ['have a field more', LINE.replace(';', ',;')],
    ['are of a state that does not exist', LINE.replace('pending', 'lost')],
  ])('that %s are refused', (_, text) => {
    expect(() => unpackOrders(text)).toThrow('a form that this version does not know');
  });
});
