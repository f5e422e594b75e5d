import {
  INT64_MAX,
  INT64_MIN,
  type Order,
  type OrderText,
  orderId,
  petId,
  SHIP_DATE_MAX,
  SHIP_DATE_MIN,
} from '@petstore/domain';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { orderJson, orderV2Json, orderWithStatusJson } from '../src/rest/order-json.ts';
import { completedOrder, EXTERNAL, pendingOrder, readText, startTestApi, type TestApi } from './test-api.ts';

/** The batches that a caller with a streaming link gets. */
async function streamed({ callAs }: TestApi): Promise<(readonly Order[])[]> {
  const batches: (readonly Order[])[] = [];
  for await (const batch of await callAs(EXTERNAL).orders.list()) batches.push(batch);
  return batches;
}

const listedText = async (service: TestApi) => readText(await service.callRest('listOrders'));

const textOf = ({ id, petId: pet, quantity, shipDate, ...order }: Order): OrderText => ({
  ...order,
  id: id.toString(),
  petId: pet.toString(),
  quantity: quantity.toString(),
  shipDate: shipDate?.toISOString(),
});

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

test('JSON and streamed lists hold exactly what is stored, whatever the orders', async () => {
  const anyOrders = fc.uniqueArray(anyOrder, { selector: ({ id }) => id, minLength: 200, maxLength: 600, size: 'max' });
  await fc.assert(
    fc.asyncProperty(anyOrders, async (orders) => {
      await using fresh = await startTestApi();
      await fresh.importOrders(...orders);
      const sorted = orders.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      expect((await streamed(fresh)).flat()).toEqual(sorted);
      expect(await listedText(fresh)).toBe(`[${sorted.map((order) => orderJson(textOf(order))).join()}]`);
    }),
    { numRuns: 3, endOnFailure: true }, // to make hundreds of orders fewer, one by one, would take minutes
  );
});

test.each([0, 250, 4_251])('a list of %i orders is one JSON array', async (count) => {
  await using fresh = await startTestApi();
  if (count > 0) await fresh.persistence.orders.generateOrders({ count, seed: 1, now: new Date() });
  const ids = Array.from({ length: count }, (_, i) => ({ id: i + 1 }));
  const listed: unknown = JSON.parse(await listedText(fresh));
  expect(listed).toHaveLength(count);
  expect(listed).toMatchObject(ids);
  const batches = await streamed(fresh);
  expect(batches.flat().map(({ id }) => ({ id: Number(id) }))).toEqual(ids);
  expect(batches.every(({ length }) => length > 0 && length <= 100)).toBe(true);
});

test('the JSON of an order has its fields in the order of the document, and no ship date that is not known', () => {
  const pending = pendingOrder(-5n);
  const completed: Order = { ...completedOrder(6n), shipDate: new Date('2026-01-02T03:04:05.600Z') };
  expect([pending, completed].map((order) => orderJson(textOf(order)))).toEqual([
    '{"id":-5,"petId":7,"quantity":2,"complete":false}',
    '{"id":6,"petId":7,"quantity":2,"shipDate":"2026-01-02T03:04:05.600Z","complete":true}',
  ]);
  expect(orderWithStatusJson(textOf(completed))).toBe(
    '{"id":6,"petId":7,"quantity":2,"shipDate":"2026-01-02T03:04:05.600Z","complete":true,"status":"shipped"}',
  );
  expect(orderV2Json(completed)).toBe(
    '{"id":"6","petId":"7","quantity":2,"shipDate":"2026-01-02T03:04:05.600Z","complete":true,"status":"shipped"}',
  );
});
