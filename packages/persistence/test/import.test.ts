import { INT64_MAX, INT64_MIN, type Order, type Pet, petId } from '@petstore/domain';
import pg from 'pg';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { copyInto } from '../src/bulk/copy-into.ts';
import { ImportConflictError, type ImportRecord } from '../src/index.ts';
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
const waiting = async () =>
  (await store.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
    .rows;
const listedIds = async () => (await listedOrders(store)).map(({ id }) => id);

test('orders of every state come in as they are', async () => {
  const orders = [pendingOrder(INT64_MIN), shippedOrder(-5n), completedOrder(0n), cancelledOrder(INT64_MAX)];
  expect(await importAll(orders)).toEqual({ insertedCount: 4, rejected: [], rejectedCount: 0 });
  expect(await listedOrders(store)).toEqual(orders);
});

describe('what is recorded in the log is the order that came in, once, and no other', () => {
  const recorded = async () =>
    (await store.query('select order_id from order_events order by order_id')).rows.map(([id]) => BigInt(id ?? ''));
  const from = (first: bigint, count: number) => Array.from({ length: count }, (_, i) => first + BigInt(i));

  test.each([
    ['ids that follow one another over batches', from(0n, 45_000)],
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
  expect(await importAll([])).toEqual({ insertedCount: 0, rejected: [], rejectedCount: 0 });
});

test('rows that come with a statement that is refused are dropped, and the connection goes on', async () => {
  const client = new pg.Client(store.url);
  await client.connect();
  const rows = `${'1\tRex\n'.repeat(200_000)}`; // more than a socket holds
  await expect(copyInto(client, 'cats (id, name)', rows)).rejects.toThrow('relation "cats" does not exist');
  await copyInto(client, 'pets (id, name)', '1\tRex\n');
  expect((await client.query('select name from pets')).rows).toEqual([{ name: 'Rex' }]);
  await client.end();
});

describe('an id that is taken', () => {
  const many = (from: number, count: number) => Array.from({ length: count }, (_, i) => pendingOrder(BigInt(from + i)));

  test('is reported with its line, and nothing is imported', async () => {
    await importAll([pendingOrder(5n)]);
    expect(await importAll([pendingOrder(4n), pendingOrder(5n), pendingOrder(6n)])).toEqual({
      insertedCount: 0,
      rejected: [{ line: 2, reason: 'an order with the id 5 exists already' }],
      rejectedCount: 1,
    });
    expect(await listedIds()).toEqual([5n]);
  });

  test('is left out where that is asked for', async () => {
    await importAll([shippedOrder(5n)]);
    expect(await importAll([pendingOrder(4n), pendingOrder(5n), pendingOrder(6n)], { skipBad: true })).toEqual({
      insertedCount: 2,
      rejected: [{ line: 2, reason: 'an order with the id 5 exists already' }],
      rejectedCount: 1,
    });
    expect(await listedOrders(store)).toEqual([pendingOrder(4n), shippedOrder(5n), pendingOrder(6n)]);
  });

  test('within one file keeps its first line, near or far', async () => {
    // 20,000 orders between: the two lines come in different batches.
    const orders = [shippedOrder(1n), pendingOrder(1n), ...many(10, 20_000), pendingOrder(1n), pendingOrder(9n)];
    expect(await importAll(orders, { skipBad: true })).toEqual({
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

  test('by another program in the moment of the import ends it, and leaves nothing of it', async () => {
    const goOn = Promise.withResolvers<void>();
    async function* source() {
      yield* numbered(many(1, 20_000));
      await goOn.promise;
      yield { line: 10_001, value: pendingOrder(70_000n) };
    }
    const begun = Promise.withResolvers<void>();
    const outcome = store.persistence.orders.importOrders(source(), { onProgress: () => begun.resolve() });
    await Promise.race([begun.promise, outcome]);
    await store.query('begin');
    await store.query(`insert into orders (id, pet_id, quantity, status, complete, placed_at)
      values (70000, 1, 1, 'pending', false, now())`);
    goOn.resolve();
    await vi.waitFor(async () => expect(await waiting()).not.toEqual([]), 20_000);
    await store.query('commit');
    await expect(outcome).rejects.toThrow(ImportConflictError);
    await expect(outcome).rejects.toThrow('Key (id)=(70000) already exists. Nothing is imported; run it again');
    expect(await listedIds()).toEqual([70_000n]);
  });
});

test('a source that fails leaves nothing behind, and its own error comes through', async () => {
  async function* failing(): AsyncGenerator<ImportRecord<Order>> {
    for (let line = 1; line <= 15_000; line++) yield { line, value: pendingOrder(BigInt(line)) };
    throw new RangeError('the file ends in the middle of a line');
  }
  await expect(store.persistence.orders.importOrders(failing())).rejects.toThrow(RangeError);
  expect(await listedIds()).toEqual([]);
});

test('unreadable records count against all or nothing', async () => {
  expect(await importAll([pendingOrder(1n)], { hasUnreadable: () => true })).toEqual({
    insertedCount: 0,
    rejected: [],
    rejectedCount: 0,
  });
  expect(await listedIds()).toEqual([]);
  const options = { hasUnreadable: () => true, skipBad: true };
  expect(await importAll([pendingOrder(1n)], options)).toEqual({ insertedCount: 1, rejected: [], rejectedCount: 0 });
  expect(await listedIds()).toEqual([1n]);
});

test('progress is reported batch by batch', async () => {
  const steps: number[] = [];
  await importAll(
    Array.from({ length: 42_500 }, (_, i) => pendingOrder(BigInt(i))),
    { onProgress: (count: number) => steps.push(count) },
  );
  expect(steps).toEqual([20_000, 40_000, 42_500]);
});

test('batches of long records are smaller', async () => {
  const steps: number[] = [];
  const pets = Array.from({ length: 20 }, (_, i) => ({ id: petId(BigInt(i)), name: 'x'.repeat(1_000_000) }));
  await store.persistence.pets.importPets(numbered(pets), { onProgress: (count) => steps.push(count) });
  expect(steps).toEqual([16, 20]);
});

test('pets come in, are found, and are never overwritten', async () => {
  const { pets } = store.persistence;
  const all: Pet[] = [
    { id: petId(INT64_MIN), name: 'Rex' },
    { id: petId(0n), name: '\\N "quoted", {braced} \t tab' },
    { id: petId(INT64_MAX), name: '🐈' },
  ];
  expect(await pets.importPets(numbered(all))).toEqual({ insertedCount: 3, rejected: [], rejectedCount: 0 });
  for (const pet of all) expect(await pets.findPet(pet.id)).toEqual(pet);
  expect(await pets.findPet(petId(1n))).toBeUndefined();
  expect(await pets.importPets(numbered([{ id: petId(0n), name: 'Other' }]))).toEqual({
    insertedCount: 0,
    rejected: [{ line: 1, reason: 'a pet with the id 0 exists already' }],
    rejectedCount: 1,
  });
});
