import { setTimeout as sleep } from 'node:timers/promises';
import {
  INT64_MAX,
  INT64_MIN,
  type Order,
  type OrderText,
  orderId,
  petId,
  SERVICE_ORIGIN,
  SHIP_DATE_MAX,
  SHIP_DATE_MIN,
  StorageUnavailableError,
} from '@petstore/domain';
import { readMemoryInUse } from '@petstore/testing';
import fc from 'fast-check';
import pg from 'pg';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  cancelledOrder,
  collect,
  completedOrder,
  importOrders,
  listedOrders,
  listedTexts,
  NOW,
  newOrder,
  pendingOrder,
  shippedOrder,
  textsOf,
  useTestStore,
} from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

/** How many statements of lists a spy on pg's `query` saw. */
const listStatementsIn = (sent: { readonly mock: { readonly calls: readonly (readonly unknown[])[] } }): number =>
  sent.mock.calls.filter(([query]) => {
    const { text } = (query ?? {}) as { readonly text?: unknown }; // as any value may be read
    return typeof text === 'string' && text.includes('from orders');
  }).length;

const byId = (a: Order, b: Order) => (a.id < b.id ? -1 : 1);

test('no orders are an empty list', async () => {
  const batches = await collect(store.persistence.orders.listOrderTexts());
  expect(batches.map(({ orders, isLast }) => [[...orders], isLast])).toEqual([[[], true]]);
  expect(await collect(store.persistence.orders.listOrders())).toEqual([]);
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

test('orders of every state stay listed, as they are', async () => {
  const orders = [pendingOrder(1n), shippedOrder(2n), completedOrder(3n), cancelledOrder(4n)];
  await importOrders(store, orders);
  expect(await listedOrders(store)).toEqual(orders);
  expect(await listedTexts(store)).toEqual(textsOf(orders));
});

// One below, at and above each border between two batches: 250 in the first, then 4,000.
test.each([1, 249, 250, 251, 4_249, 4_250, 4_251, 8_251])(
  '%i orders are listed once each, ascending by id',
  async (count) => {
    await store.persistence.orders.generateOrders({ count, seed: 1, now: NOW });
    const ids = Array.from({ length: count }, (_, i) => BigInt(i + 1));
    expect((await listedOrders(store)).map(({ id }) => id)).toEqual(ids);
    const batches = await collect(store.persistence.orders.listOrderTexts());
    expect(batches.flatMap(({ orders }) => Array.from(orders, ({ id }) => BigInt(id)))).toEqual(ids);
    expect(batches.map(({ isLast }) => isLast)).toEqual(batches.map((_, i) => i === batches.length - 1));
  },
);

const int64 = fc.oneof(
  fc.bigInt({ min: INT64_MIN, max: INT64_MAX }),
  fc.constantFrom(INT64_MIN, INT64_MIN + 1n, -1n, 0n, 1n, INT64_MAX - 1n, INT64_MAX),
);
const milliseconds = fc.date({ min: SHIP_DATE_MIN, max: SHIP_DATE_MAX, noInvalidDate: true });
const anyOrder = fc
  .record({
    make: fc.constantFrom(pendingOrder, shippedOrder, completedOrder, cancelledOrder),
    id: int64,
    petId: int64,
    quantity: fc.oneof(fc.integer({ min: 1, max: 2_147_483_647 }), fc.constantFrom(1, 2_147_483_647)),
    shipDate: fc.option(
      fc.oneof(milliseconds, fc.constantFrom(SHIP_DATE_MIN, SHIP_DATE_MAX, new Date('0999-12-31T23:59:59.010Z'))),
      { nil: undefined },
    ),
  })
  .map(
    ({ make, id, petId: pet, quantity, shipDate }): Order => ({
      ...make(id),
      petId: petId(pet),
      quantity,
      ...(shipDate && { shipDate }),
    }),
  );

test('both forms hold exactly what is stored of any orders, over the whole range of ids and times', async () => {
  const anyOrders = fc.uniqueArray(anyOrder, { selector: ({ id }) => id, minLength: 200, maxLength: 600, size: 'max' });
  await fc.assert(
    fc.asyncProperty(anyOrders, async (orders) => {
      await store.query('truncate orders');
      await importOrders(store, orders);
      const sorted = orders.toSorted(byId);
      expect(await listedOrders(store)).toEqual(sorted);
      expect(await listedTexts(store)).toEqual(textsOf(sorted));
    }),
    { numRuns: 20, endOnFailure: true }, // to make hundreds of orders fewer, one by one, would take minutes
  );
});

test('every time of an order is exact to the millisecond', async () => {
  const days = ['0001-01-01T00:00:00.000Z', '1969-12-31T23:59:59.999Z', '1970-01-01T00:00:00.000Z'];
  const more = ['1999-12-31T23:59:59.999Z', '2000-01-01T00:00:00.001Z', '9999-12-31T23:59:59.999Z'];
  // Whose text in PostgreSQL has no decimals, or fewer than three.
  const decimals = [0, 10, 12, 100, 120, 123, 999].map((ms) =>
    new Date(Date.UTC(2026, 0, 1, 0, 0, 0, ms)).toISOString(),
  );
  const times = [...days, ...more, ...decimals].map((text) => new Date(text));
  const ordersFrom = (first: number) =>
    times.flatMap((time, i): Order[] => [
      { ...pendingOrder(BigInt(first + i)), placedAt: time, shipDate: time },
      { ...shippedOrder(BigInt(first + 100 + i)), shippedAt: time },
      { ...completedOrder(BigInt(first + 200 + i)), shippedAt: NOW, completedAt: time },
      { ...cancelledOrder(BigInt(first + 300 + i)), cancelledAt: time, shipDate: time },
    ]);
  // In the first batch, which is made by another statement than the others, and in a later one.
  const between = Array.from({ length: 300 }, (_, i) => pendingOrder(BigInt(1_000 + i)));
  const orders = [...ordersFrom(0), ...between, ...ordersFrom(2_000)].toSorted(byId);
  await importOrders(store, orders);
  expect(await listedOrders(store)).toEqual(orders);
  expect(await listedTexts(store)).toEqual(textsOf(orders));
});

describe('while others write', () => {
  test('whatever was committed at the beginning is listed exactly once', async () => {
    const { orders } = store.persistence;
    await orders.generateOrders({ count: 10_000, seed: 2, now: NOW });
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
        for (let id = 7n; writing && id < 10_000n; id += 7n)
          await importOrders(store, [pendingOrder(id), pendingOrder(-id)]);
      })(),
      (async () => {
        for (let id = 1n; writing; id += 3n) await orders.applyCommand(orderId(id), 'cancel', NOW, SERVICE_ORIGIN);
      })(),
    ]);
    for (let round = 0; round < 5; round++) {
      const ids = (await listedTexts(store)).map(({ id }) => BigInt(id));
      expect(ids).toEqual([...new Set(ids)].sort((a, b) => (a < b ? -1 : 1)));
      const seen = new Set(ids.map(String));
      expect(before.filter((id) => !seen.has(id))).toEqual([]);
    }
    writing = false;
    await writers;
  });

  test('a listing that is not read holds no transaction and no lock', async () => {
    await store.persistence.orders.generateOrders({ count: 20_000, seed: 3, now: NOW });
    const listing = store.persistence.orders.listOrderTexts()[Symbol.asyncIterator]();
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
    expect(rest).toBe(20_000 - 250 - 4_000);
  });
});

describe('lists that are asked for at once', () => {
  const statementsOf = async (work: () => Promise<unknown>) => {
    const sent = vi.spyOn(pg.Client.prototype, 'query');
    await work();
    const count = listStatementsIn(sent);
    sent.mockRestore();
    return count;
  };

  test('cost what one does, and each is whole', async () => {
    await store.persistence.orders.generateOrders({ count: 9_000, seed: 8, now: NOW });
    const [texts, objects] = [await listedTexts(store), await listedOrders(store)];
    const textLists: (readonly OrderText[])[] = [];
    const lists: (readonly Order[])[] = [];
    const one = await statementsOf(() => listedTexts(store));
    expect(one).toBe(4); // 250 orders, then 4,000 in each batch
    const many = (list: () => Promise<unknown>) => () => Promise.all(Array.from({ length: 20 }, list));
    expect(await statementsOf(many(async () => textLists.push(await listedTexts(store))))).toBe(one);
    expect(await statementsOf(many(async () => lists.push(await listedOrders(store))))).toBe(one);
    for (const list of textLists) expect(list).toEqual(texts);
    for (const orders of lists) expect(orders).toEqual(objects);
  });

  test('each hold what was committed before they were asked for', async () => {
    const { orders } = store.persistence;
    const others: Promise<unknown>[] = [];
    for (let round = 0; round < 100; round++) {
      others.push(listedTexts(store));
      const { id } = (await orders.insertOrder(newOrder(), SERVICE_ORIGIN)).order;
      others.push(listedTexts(store));
      expect((await listedTexts(store)).at(-1)).toMatchObject({ id: id.toString() });
    }
    await Promise.all(others);
  });
});

describe('a batch', () => {
  /** Reads the rest of a list, of whose batches some had been read before all orders were locked. */
  async function readLocked(whileLocked: () => Promise<void>): Promise<unknown> {
    const { orders } = store.persistence;
    await orders.generateOrders({ count: 20_000, seed: 9, now: NOW });
    const list = orders.listOrderTexts()[Symbol.asyncIterator]();
    for (let i = 0; i < 2; i++) await list.next();
    await store.query('begin');
    try {
      await store.query('lock table orders in access exclusive mode');
      const rest = collect({ [Symbol.asyncIterator]: () => list }).catch((error: unknown) => error);
      await whileLocked();
      return await rest;
    } finally {
      await store.query('rollback');
    }
  }

  test('whose backend is ended fails its list, and no other', async () => {
    const end = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query like '%from orders%' and wait_event_type = 'Lock'`;
    const failure = await readLocked(() =>
      expect.poll(async () => (await store.query(end)).rows.length, { timeout: 20_000 }).toBeGreaterThan(0),
    );
    expect(failure).toBeInstanceOf(StorageUnavailableError);
    expect(await listedTexts(store)).toHaveLength(20_000);
  });

  test('that does not come in time fails its list, and gives its connection back', async () => {
    const beganMs = performance.now();
    expect(await readLocked(async () => {})).toBeInstanceOf(StorageUnavailableError);
    expect(performance.now() - beganMs).toBeLessThan(30_000); // of slowness nothing is said here
    expect(await listedTexts(store)).toHaveLength(20_000);
  });
});

describe('a listing that is abandoned', () => {
  test('leaves nothing behind', async () => {
    const { orders } = store.persistence;
    await orders.generateOrders({ count: 10_000, seed: 4, now: NOW });
    // More than there are connections, so that one kept by each would be missed below.
    for (let i = 0; i < 40; i++) {
      const listing: AsyncIterable<unknown> = i % 2 === 0 ? orders.listOrders() : orders.listOrderTexts();
      let batches = 0;
      for await (const _ of listing) if (++batches === 1 + (i % 4)) break;
      expect(batches).toBe(1 + (i % 4));
    }
    expect(await collect(orders.listOrders())).not.toHaveLength(0);
    const batchesInFlight = () => store.persistence.load().statementsInFlight.batches;
    await expect.poll(batchesInFlight, { timeout: 20_000 }).toBe(0);
  });

  test('fetches at most one batch ahead', async () => {
    await store.persistence.orders.generateOrders({ count: 28_000, seed: 5, now: NOW });
    const sent = vi.spyOn(pg.Client.prototype, 'query');
    const listing = store.persistence.orders.listOrderTexts()[Symbol.asyncIterator]();
    for (let taken = 1; taken <= 5; taken++) {
      await listing.next();
      await vi.waitUntil(() => listStatementsIn(sent) > taken, { timeout: 20_000 });
      await sleep(50);
      expect(listStatementsIn(sent)).toBe(taken + 1);
    }
    sent.mockRestore();
    await listing.return?.();
  });
});

test('memory stays flat however long the list is', async () => {
  const { orders } = store.persistence;
  await orders.generateOrders({ count: 100_000, seed: 6, now: NOW });
  const peakOf = async (listing: AsyncIterable<unknown>) => {
    const before = await readMemoryInUse();
    let peakBytes = 0;
    let batches = 0;
    for await (const _ of listing) {
      if (++batches % 10 === 0) peakBytes = Math.max(peakBytes, (await readMemoryInUse()) - before);
    }
    return peakBytes;
  };
  // The list is some 50 MB as objects.
  expect(await peakOf(orders.listOrderTexts())).toBeLessThan(6_000_000);
  expect(await peakOf(orders.listOrders())).toBeLessThan(6_000_000);
}, 120_000);
