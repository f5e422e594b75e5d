import {
  INT64_MAX,
  LISTED_FIELDS,
  type OrderText,
  orderId,
  petId,
  SERVICE_ORIGIN,
  StorageUnavailableError,
} from '@petstore/domain';
import { readMemoryInUse } from '@petstore/testing';
import { anyOrders } from '@petstore/testing/any-order';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { assertInOrder } from '../src/orders/list-orders.ts';
import {
  collect,
  completedOrder,
  importOrders,
  listedOrders,
  listedTexts,
  NOW,
  newOrder,
  numbered,
  pendingOrder,
  textsOf,
  useTestStore,
} from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

const byId = (a: { readonly id: bigint }, b: { readonly id: bigint }) => (a.id < b.id ? -1 : 1);

test('no orders are an empty list', async () => {
  const batches = await collect(store.persistence.orders.listOrderTexts(LISTED_FIELDS));
  expect(batches.map(({ orders, isLast }) => [[...orders], isLast])).toEqual([[[], true]]);
  expect(await collect(store.persistence.orders.listOrders())).toEqual([{ orders: [], isLast: true }]);
});

test('a text holds the fields of an order in their written form', async () => {
  await importOrders(store, [
    { ...pendingOrder(1n), shipDate: new Date('2026-01-02T03:04:05.600Z') },
    completedOrder(2n),
  ]);
  expect(await listedTexts(store)).toEqual([
    { id: '1', petId: '7', quantity: '1', shipDate: '2026-01-02T03:04:05.600Z', status: 'pending', complete: false },
    { id: '2', petId: '7', quantity: '1', shipDate: undefined, status: 'shipped', complete: true },
  ]);
});

// One, as many as the first batch holds, and one more than the second does.
test.each([1, 250, 4_251])('%i orders are listed once each, ascending by id', async (count) => {
  await store.persistence.orders.generateOrders({ count, seed: 1, now: NOW });
  const ids = Array.from({ length: count }, (_, i) => BigInt(i + 1));
  expect((await listedOrders(store)).map(({ id }) => id)).toEqual(ids);
  const batches = await collect(store.persistence.orders.listOrderTexts(LISTED_FIELDS));
  expect(batches.flatMap(({ orders }) => Array.from(orders, ({ id }) => BigInt(id)))).toEqual(ids);
  expect(batches.map(({ isLast }) => isLast)).toEqual(batches.map((_, i) => i === batches.length - 1));
});

test('both forms hold exactly what is stored of any orders, over the whole range of ids and times', async () => {
  await fc.assert(
    fc.asyncProperty(anyOrders({ minLength: 200, maxLength: 600 }), async (orders) => {
      await store.query('truncate orders');
      await importOrders(store, orders);
      const sorted = orders.toSorted(byId);
      expect(await listedOrders(store)).toEqual(sorted);
      expect(await listedTexts(store)).toEqual(textsOf(sorted));
    }),
    { numRuns: 6, endOnFailure: true }, // to make hundreds of orders fewer, one by one, would take minutes
  );
});

describe('while others write', () => {
  test('whatever was committed at the beginning is listed exactly once', async () => {
    const { orders } = store.persistence;
    await orders.generateOrders({ count: 5_000, seed: 2, now: NOW });
    // Leaves gaps below, between and behind, where orders come in during the listing.
    await store.query('delete from orders where id % 7 = 0');
    const { rows } = await store.query('select id from orders order by id');
    const before = rows.flat();

    let writing = true;
    const writers = Promise.all([
      (async () => {
        while (writing) await orders.insertOrder(newOrder(), SERVICE_ORIGIN);
      })(),
      (async () => {
        for (let id = 7n; writing && id < 5_000n; id += 7n)
          await importOrders(store, [pendingOrder(id), pendingOrder(-id)]);
      })(),
      (async () => {
        for (let id = 1n; writing; id += 3n) await orders.applyCommand(orderId(id), 'cancel', NOW, SERVICE_ORIGIN);
      })(),
    ]);
    for (let round = 0; round < 3; round++) {
      const ids = (await listedTexts(store)).map(({ id }) => BigInt(id));
      expect(ids).toEqual([...new Set(ids)].sort((a, b) => (a < b ? -1 : 1)));
      const seen = new Set(ids.map(String));
      expect(before.filter((id) => !seen.has(id))).toEqual([]);
    }
    writing = false;
    await writers;
  });

  test('a listing that is not read holds no transaction and no lock', async () => {
    await store.persistence.orders.generateOrders({ count: 8_000, seed: 3, now: NOW });
    const listing = store.persistence.orders.listOrderTexts(LISTED_FIELDS)[Symbol.asyncIterator]();
    await listing.next();
    await listing.next();
    await expect
      .poll(
        async () => {
          const { rows } = await store.query(
            `select count(*) from pg_stat_activity where datname = current_database()
             and backend_type = 'client backend' and pid <> pg_backend_pid() and state <> 'idle'`,
          );
          return rows[0]?.[0];
        },
        { timeout: 20_000 },
      )
      .toBe('0');
    await store.query('begin');
    await store.query('lock table orders in access exclusive mode');
    await store.query('rollback');
    let rest = 0;
    for await (const { orders } of { [Symbol.asyncIterator]: () => listing }) rest += [...orders].length;
    expect(rest).toBe(8_000 - 250 - 2_000);
  });
});

test('lists that are asked for at once are each whole, and hold what was committed before they were asked for', async () => {
  const { orders } = store.persistence;
  await orders.generateOrders({ count: 4_500, seed: 8, now: NOW });
  const others: Promise<readonly OrderText[]>[] = [];
  for (let round = 0; round < 8; round++) {
    others.push(listedTexts(store));
    const { id } = (await orders.insertOrder(newOrder(), SERVICE_ORIGIN)).order;
    others.push(listedTexts(store));
    expect((await listedTexts(store)).at(-1)).toMatchObject({ id: id.toString() });
  }
  for (const list of await Promise.all(others)) expect(list.length).toBeGreaterThanOrEqual(4_500);
});

test('a batch whose backend is ended fails its list, and no other', async () => {
  const { orders } = store.persistence;
  await orders.generateOrders({ count: 8_000, seed: 9, now: NOW });
  const list = orders.listOrderTexts(LISTED_FIELDS)[Symbol.asyncIterator]();
  for (let i = 0; i < 2; i++) await list.next();
  await store.query('begin');
  await store.query('lock table orders in access exclusive mode');
  const failing = expect(collect({ [Symbol.asyncIterator]: () => list })).rejects.toThrow(StorageUnavailableError);
  const end = `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query like '%from orders%' and wait_event_type = 'Lock'`;
  await expect.poll(async () => (await store.query(end)).rows.length, { timeout: 20_000 }).toBeGreaterThan(0);
  await failing;
  await store.query('rollback');
  expect(await listedTexts(store)).toHaveLength(8_000);
});

test.each([
  [null, null],
  ['-5', -5n],
  ['1,2,30', 30n],
])('a batch of the ids %s, with %s as the largest, is in order', (ids, largestId) => assertInOrder(ids, largestId));

test('a batch that PostgreSQL did not keep in order is an error, and no wrong list', () => {
  expect(() => assertInOrder('1,30,2', 30n)).toThrow('out of order');
});

test('a listing that is abandoned leaves nothing behind', async () => {
  const { orders } = store.persistence;
  await orders.generateOrders({ count: 5_000, seed: 4, now: NOW });
  // More than there are connections, so that one kept by each would be missed below.
  for (let i = 0; i < 20; i++) {
    const listing: AsyncIterable<unknown> = i % 2 === 0 ? orders.listOrders() : orders.listOrderTexts(LISTED_FIELDS);
    let batches = 0;
    for await (const _ of listing) if (++batches === 1 + (i % 3)) break;
  }
  expect(await collect(orders.listOrders())).not.toHaveLength(0);
  const batchesInFlight = () => store.persistence.load().statementsInFlight.long;
  await expect.poll(batchesInFlight, { timeout: 20_000 }).toBe(0);
});

test('memory stays flat however long the list is', async () => {
  const { orders } = store.persistence;
  await orders.generateOrders({ count: 30_000, seed: 6, now: NOW });
  const before = await readMemoryInUse();
  for (const listing of [orders.listOrderTexts(LISTED_FIELDS), orders.listOrders()]) {
    let batchCount = 0;
    for await (const _ of listing) {
      // The list is some 15 MB as objects, and this is nearly its end.
      if (++batchCount === 15) expect((await readMemoryInUse()) - before).toBeLessThan(6_000_000);
    }
    expect(batchCount).toBe(16);
  }
}, 120_000);

test('pets are listed in the order of their ids, as many as there are', async () => {
  const pets = Array.from({ length: 25_000 }, (_, i) => ({ id: petId(BigInt(i * 7) - 1_000n), name: `pet ${i}` }));
  await store.persistence.pets.importPets(numbered(pets.toReversed()));
  const batches = await collect(store.persistence.pets.listPets());
  expect(batches.map((batch) => batch.length)).toEqual([10_000, 10_000, 5_000]);
  expect(batches.flat()).toEqual(pets);
});

/** The last of so many consecutive ids is the largest there is. */
const lastIds = (count: number): readonly bigint[] =>
  Array.from({ length: count }, (_, i) => INT64_MAX - BigInt(count - 1 - i));

test('pets whose last batch is full end with the largest id', async () => {
  const pets = lastIds(10_000).map((id) => ({ id: petId(id), name: 'pet' }));
  await store.persistence.pets.importPets(numbered(pets));
  expect(await collect(store.persistence.pets.listPets())).toEqual([pets]);
});

// As many as the first batch holds, and as the first two do.
test.each([250, 2_250])('%i orders whose last batch is full end with the largest id', async (count) => {
  const orders = lastIds(count).map(pendingOrder);
  await importOrders(store, orders);
  expect(await listedOrders(store)).toEqual(orders);
  const batches = await collect(store.persistence.orders.listOrderTexts(LISTED_FIELDS));
  expect(batches.map(({ isLast }) => isLast)).toEqual(batches.map((_, i) => i === batches.length - 1));
});
