import { INT64_MAX, INT64_MIN, type Order, type Pet, petId } from '@petstore/domain';
import { beforeEach, describe, expect, test } from 'vitest';
import type { ImportRecord } from '../src/index.ts';
import {
  cancelledOrder,
  completedOrder,
  listedOrders,
  numbered,
  pendingOrder,
  shippedOrder,
  useTestStore,
} from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

const importAll = (orders: Iterable<Order>, options = {}) =>
  store.persistence.orders.importOrders(numbered(orders), options);
const listedIds = async () => (await listedOrders(store)).map(({ id }) => id);

test('orders of every state come in as they are', async () => {
  const orders = [pendingOrder(INT64_MIN), shippedOrder(-5n), completedOrder(0n), cancelledOrder(INT64_MAX)];
  expect(await importAll(orders)).toEqual({ insertedCount: 4, rejected: [] });
  expect(await listedOrders(store)).toEqual(orders);
});

test('an import of nothing is fine', async () => {
  expect(await importAll([])).toEqual({ insertedCount: 0, rejected: [] });
});

describe('an id that is taken', () => {
  const many = (from: number, count: number) => Array.from({ length: count }, (_, i) => pendingOrder(BigInt(from + i)));

  test('is told with its line, and nothing is imported', async () => {
    await importAll([pendingOrder(5n)]);
    expect(await importAll([pendingOrder(4n), pendingOrder(5n), pendingOrder(6n)])).toEqual({
      insertedCount: 0,
      rejected: [{ line: 2, reason: 'an order with the id 5 exists already' }],
    });
    expect(await listedIds()).toEqual([5n]);
  });

  test('is left out where that is asked for', async () => {
    await importAll([shippedOrder(5n)]);
    expect(await importAll([pendingOrder(4n), pendingOrder(5n), pendingOrder(6n)], { skipBad: true })).toEqual({
      insertedCount: 2,
      rejected: [{ line: 2, reason: 'an order with the id 5 exists already' }],
    });
    expect(await listedOrders(store)).toEqual([pendingOrder(4n), shippedOrder(5n), pendingOrder(6n)]);
  });

  test('within one file keeps its first line, near or far', async () => {
    // 5,000 orders between: the two lines come in different batches.
    const orders = [shippedOrder(1n), pendingOrder(1n), ...many(10, 5_000), pendingOrder(1n), pendingOrder(9n)];
    expect(await importAll(orders, { skipBad: true })).toEqual({
      insertedCount: 5_002,
      rejected: [
        { line: 2, reason: 'the id 1 is repeated from an earlier line' },
        { line: 5_003, reason: 'the id 1 is repeated from an earlier line' },
      ],
    });
    expect((await listedOrders(store))[0]).toEqual(shippedOrder(1n));
  });

  test('is told for each of many, in the order of the lines', async () => {
    await importAll(many(0, 3_000));
    const { insertedCount, rejected } = await importAll(many(-10, 3_020));
    expect(insertedCount).toBe(0);
    expect(rejected.map(({ line }) => line)).toEqual(Array.from({ length: 3_000 }, (_, i) => 11 + i));
    expect(await listedIds()).toHaveLength(3_000);
  });
});

test('a source that fails leaves nothing behind, and its own error comes through', async () => {
  async function* failing(): AsyncGenerator<ImportRecord<Order>> {
    for (let line = 1; line <= 5_000; line++) yield { line, value: pendingOrder(BigInt(line)) };
    throw new RangeError('the file ends in the middle of a line');
  }
  await expect(store.persistence.orders.importOrders(failing())).rejects.toThrow(RangeError);
  expect(await listedIds()).toEqual([]);
});

test('unreadable records count against all or nothing', async () => {
  expect(await importAll([pendingOrder(1n)], { hasUnreadable: () => true })).toEqual({
    insertedCount: 0,
    rejected: [],
  });
  expect(await listedIds()).toEqual([]);
  const options = { hasUnreadable: () => true, skipBad: true };
  expect(await importAll([pendingOrder(1n)], options)).toEqual({ insertedCount: 1, rejected: [] });
  expect(await listedIds()).toEqual([1n]);
});

test('progress is told batch by batch', async () => {
  const steps: number[] = [];
  await importAll(
    Array.from({ length: 4_500 }, (_, i) => pendingOrder(BigInt(i))),
    { onProgress: (count: number) => steps.push(count) },
  );
  expect(steps).toEqual([2_000, 4_000, 4_500]);
});

test('pets come in, are found, and are never overwritten', async () => {
  const { pets } = store.persistence;
  const all: Pet[] = [
    { id: petId(INT64_MIN), name: 'Rex' },
    { id: petId(0n), name: '\\N "quoted", {braced} \t tab' },
    { id: petId(INT64_MAX), name: '🐈' },
  ];
  expect(await pets.importPets(numbered(all))).toEqual({ insertedCount: 3, rejected: [] });
  for (const pet of all) expect(await pets.findPet(pet.id)).toEqual(pet);
  expect(await pets.findPet(petId(1n))).toBeUndefined();
  expect(await pets.importPets(numbered([{ id: petId(0n), name: 'Other' }]))).toEqual({
    insertedCount: 0,
    rejected: [{ line: 1, reason: 'a pet with the id 0 exists already' }],
  });
});
