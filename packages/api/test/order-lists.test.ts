import type { Order, OrderText } from '@petstore/domain';
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

test.each([0, 250, 4_251])('a list of %i orders is one JSON array', async (count) => {
  await using fresh = await startTestApi();
  if (count > 0) await fresh.persistence.orders.generateOrders({ count, seed: 1, now: new Date() });
  const ids = Array.from({ length: count }, (_, i) => ({ id: i + 1 }));
  const listed: unknown = JSON.parse(await listedText(fresh));
  expect(listed).toHaveLength(count);
  expect(listed).toMatchObject(ids);
  const batches = await streamed(fresh);
  expect(batches.flat().map(({ id }) => ({ id: Number(id) }))).toEqual(ids);
  expect(batches.every(({ length }) => length > 0 && length <= 50)).toBe(true);
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
