import { INT64_MAX, INT64_MIN, type Order, type Pet, petId } from '@petstore/domain';
import { PATIENTLY } from '@petstore/testing';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { ImportItem } from '../src/import-rows.ts';
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
const waiting = async () => (await store.query('select from pg_locks where not granted')).rows;
const listedIds = async () => (await listedOrders(store)).map(({ id }) => id);

test('orders of every state come in as they are', async () => {
  const orders = [pendingOrder(INT64_MIN), shippedOrder(-5n), completedOrder(0n), cancelledOrder(INT64_MAX)];
  expect(await importAll(orders)).toEqual({ readCount: 4, insertedCount: 4, rejected: [], rejectedCount: 0 });
  expect(await listedOrders(store)).toEqual(orders);
});

describe('what is recorded in the log is the order that came in, once, and no other', () => {
  const recorded = async () =>
    (await store.query('select order_id from order_events order by order_id')).rows.map(([id]) => BigInt(id ?? ''));
  const from = (first: bigint, count: number) => Array.from({ length: count }, (_, i) => first + BigInt(i));

  test.each([
    ['ids that follow one another', from(0n, 45_000)],
    ['ids in any order', [7n, 5n, 6n, -1n, 0n, 1n, 9n, 8n]],
    ['ids at the ends of the range', [INT64_MAX, INT64_MIN, INT64_MIN + 1n, INT64_MAX - 1n]],
  ])('%s', async (_, ids) => {
    await importAll(ids.map(pendingOrder));
    expect(await recorded()).toEqual([...ids].sort((a, b) => (a < b ? -1 : 1)));
  });

  test('around ids that are taken', async () => {
    await store.query(
      `insert into orders (id, pet_id, quantity, status, complete, placed_at)
       select id, 1, 1, 'pending', false, now() from unnest(array[3, 4, 8]) as id`,
    );
    await importAll([...from(1n, 9), 5n].map(pendingOrder), { skipBad: true });
    expect(await recorded()).toEqual([1n, 2n, 5n, 6n, 7n, 9n]);
  });
});

test('an import of nothing is fine', async () => {
  expect(await importAll([])).toEqual({ readCount: 0, insertedCount: 0, rejected: [], rejectedCount: 0 });
});

describe('an id that is taken', () => {
  const many = (from: number, count: number) => Array.from({ length: count }, (_, i) => pendingOrder(BigInt(from + i)));

  test('is reported with its line, and nothing is imported', async () => {
    await importAll([pendingOrder(5n)]);
    expect(await importAll([pendingOrder(4n), pendingOrder(5n), pendingOrder(6n)])).toEqual({
      readCount: 3,
      insertedCount: 0,
      rejected: [{ line: 2, reason: 'an order with the id 5 exists already' }],
      rejectedCount: 1,
    });
    expect(await listedIds()).toEqual([5n]);
  });

  test('is left out where that is asked for', async () => {
    await importAll([shippedOrder(5n)]);
    expect(await importAll([pendingOrder(4n), pendingOrder(5n), pendingOrder(6n)], { skipBad: true })).toEqual({
      readCount: 3,
      insertedCount: 2,
      rejected: [{ line: 2, reason: 'an order with the id 5 exists already' }],
      rejectedCount: 1,
    });
    expect(await listedOrders(store)).toEqual([pendingOrder(4n), shippedOrder(5n), pendingOrder(6n)]);
  });

  test('within one file keeps its first line, near or far', async () => {
    const orders = [shippedOrder(1n), pendingOrder(1n), ...many(10, 20_000), pendingOrder(1n), pendingOrder(9n)];
    expect(await importAll(orders, { skipBad: true })).toEqual({
      readCount: 20_004,
      insertedCount: 20_002,
      rejected: [
        { line: 2, reason: 'the id 1 is repeated from an earlier line' },
        { line: 20_003, reason: 'the id 1 is repeated from an earlier line' },
      ],
      rejectedCount: 2,
    });
    expect((await listedOrders(store))[0]).toEqual(shippedOrder(1n));
  });

  test('is reported for the first thousand, in the order of the lines, and counted for all', async () => {
    await importAll(many(0, 3_000));
    const { insertedCount, rejected, rejectedCount } = await importAll(many(-10, 3_020));
    expect(insertedCount).toBe(0);
    expect(rejected.map(({ line }) => line)).toEqual(Array.from({ length: 1_000 }, (_, i) => 11 + i));
    expect(rejectedCount).toBe(3_000);
    expect(await listedIds()).toHaveLength(3_000);
  });

  test('by another program in the moment of the import is found all the same, and nobody fails', async () => {
    await store.query('begin');
    await store.query(`insert into orders (id, pet_id, quantity, status, complete, placed_at)
      values (70000, 1, 1, 'pending', false, now())`);
    const outcome = importAll([pendingOrder(69_999n), pendingOrder(70_000n)], { skipBad: true });
    await vi.waitFor(async () => expect(await waiting()).not.toEqual([]), PATIENTLY);
    await store.query('commit');
    expect(await outcome).toEqual({
      readCount: 2,
      insertedCount: 1,
      rejected: [{ line: 2, reason: 'an order with the id 70000 exists already' }],
      rejectedCount: 1,
    });
    expect(await listedIds()).toEqual([69_999n, 70_000n]);
  });
});

test('a source that fails leaves nothing behind, and its own error comes through', async () => {
  async function* failing(): AsyncGenerator<ImportItem<Order>> {
    for (let line = 1; line <= 15_000; line++) yield { line, value: pendingOrder(BigInt(line)) };
    throw new RangeError('the file ends in the middle of a line');
  }
  await expect(store.persistence.orders.importOrders(failing())).rejects.toThrow(RangeError);
  expect(await listedIds()).toEqual([]);
});

test('records that could not be read count against all or nothing, and are reported in the order of the lines', async () => {
  async function* source(): AsyncGenerator<ImportItem<Order> | ImportItem<Order>[]> {
    yield { line: 1, value: pendingOrder(1n) };
    yield [
      { line: 2, value: pendingOrder(1n) },
      { line: 3, reason: 'not valid JSON' },
    ];
    yield { line: 4, value: pendingOrder(1n) };
  }
  const repeated = 'the id 1 is repeated from an earlier line';
  const report = {
    readCount: 4,
    insertedCount: 0,
    rejected: [
      { line: 2, reason: repeated },
      { line: 3, reason: 'not valid JSON' },
      { line: 4, reason: repeated },
    ],
    rejectedCount: 3,
  };
  expect(await store.persistence.orders.importOrders(source())).toEqual(report);
  expect(await listedIds()).toEqual([]);
  const skipping = store.persistence.orders.importOrders(source(), { skipBad: true });
  expect(await skipping).toEqual({ ...report, insertedCount: 1 });
  expect(await listedIds()).toEqual([1n]);
});

test('pets come in, are found, and are never overwritten', async () => {
  const { pets } = store.persistence;
  const all: Pet[] = [
    { id: petId(INT64_MIN), name: 'Rex' },
    { id: petId(0n), name: '\\N "quoted", {braced} \t tab' },
    { id: petId(INT64_MAX), name: '🐈' },
  ];
  expect(await pets.importPets(numbered(all))).toEqual({
    readCount: 3,
    insertedCount: 3,
    rejected: [],
    rejectedCount: 0,
  });
  for (const pet of all) expect(await pets.findPet(pet.id)).toEqual(pet);
  expect(await pets.findPet(petId(1n))).toBeUndefined();
  expect(await pets.importPets(numbered([{ id: petId(0n), name: 'Other' }]))).toEqual({
    readCount: 1,
    insertedCount: 0,
    rejected: [{ line: 1, reason: 'a pet with the id 0 exists already' }],
    rejectedCount: 1,
  });
});
