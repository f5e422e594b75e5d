import { setTimeout as sleep } from 'node:timers/promises';
import {
  INT64_MAX,
  INT64_MIN,
  type Order,
  orderId,
  PackedOrders,
  petId,
  SHIP_DATE_MAX,
  SHIP_DATE_MIN,
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
  listedPacked,
  listedText,
  NOW,
  newOrder,
  parseExactly,
  pendingOrder,
  restFieldsOf,
  shippedOrder,
  useTestStore,
} from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

const byId = (a: Order, b: Order) => (a.id < b.id ? -1 : 1);

test('no orders are an empty array', async () => {
  expect(await listedText(store)).toBe('[]');
  expect(await listedOrders(store)).toEqual([]);
});

test('an order has exactly the documented fields, in one text', async () => {
  const shipDate = new Date('2026-01-02T03:04:05.678Z');
  await importOrders(store, [{ ...pendingOrder(1n), petId: petId(2n), quantity: 3, shipDate }, completedOrder(2n)]);
  expect(await listedText(store)).toBe(
    '[{"id":1,"petId":2,"quantity":3,"shipDate":"2026-01-02T03:04:05.678Z","complete":false},' +
      '{"id":2,"petId":7,"quantity":1,"complete":true}]',
  );
});

test('orders of every state stay listed, as they are', async () => {
  const orders = [pendingOrder(1n), shippedOrder(2n), completedOrder(3n), cancelledOrder(4n)];
  await importOrders(store, orders);
  expect(await listedOrders(store)).toEqual(orders);
  expect(parseExactly(await listedText(store))).toEqual(orders.map(restFieldsOf));
});

// One below, at and above each border between two batches: 250 in the first, then 4,000 of text, 2,000 of packed orders
// or 1,000 of objects.
test.each([1, 249, 250, 251, 1_249, 1_250, 1_251, 2_249, 2_250, 2_251, 4_249, 4_250, 4_251, 8_251])(
  '%i orders are listed once each, ascending by id',
  async (count) => {
    await store.persistence.orders.generateOrders({ count, seed: 1, now: NOW });
    const ids = Array.from({ length: count }, (_, i) => BigInt(i + 1));
    expect((await listedOrders(store)).map(({ id }) => id)).toEqual(ids);
    expect((await listedPacked(store)).map(({ id }) => id)).toEqual(ids);
    // The properties' names are the same in every order, so the text is one line per order away from the truth.
    expect(parseExactly(await listedText(store))).toMatchObject(ids.map((id) => ({ id })));
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

test('text, objects and packed orders tell the whole truth of any orders, over the whole range of ids and times', async () => {
  const anyOrders = fc.uniqueArray(anyOrder, { selector: ({ id }) => id, minLength: 200, maxLength: 600, size: 'max' });
  await fc.assert(
    fc.asyncProperty(anyOrders, async (orders) => {
      await store.query('truncate orders');
      await importOrders(store, orders);
      const sorted = orders.toSorted(byId);
      expect(await listedOrders(store)).toEqual(sorted);
      expect(await listedPacked(store)).toEqual(sorted);
      const text = await listedText(store);
      expect(parseExactly(text)).toEqual(sorted.map(restFieldsOf));
      expect(text).not.toMatch(/\s/);
    }),
    { numRuns: 20, endOnFailure: true }, // to make hundreds of orders fewer, one by one, would take minutes
  );
});

test('every time of an order is told to the millisecond, in objects and packed', async () => {
  const days = ['0001-01-01T00:00:00.000Z', '1969-12-31T23:59:59.999Z', '1970-01-01T00:00:00.000Z'];
  const more = ['1999-12-31T23:59:59.999Z', '2000-01-01T00:00:00.001Z', '9999-12-31T23:59:59.999Z'];
  const times = [...days, ...more].map((text) => new Date(text));
  const orders = times.flatMap((time, i): Order[] => [
    { ...pendingOrder(BigInt(1_000 + i)), placedAt: time, shipDate: time },
    { ...shippedOrder(BigInt(2_000 + i)), shippedAt: time },
    { ...completedOrder(BigInt(3_000 + i)), shippedAt: NOW, completedAt: time },
    { ...cancelledOrder(BigInt(4_000 + i)), cancelledAt: time, shipDate: time },
  ]);
  // Behind the first batch, which is made from text.
  const before = Array.from({ length: 250 }, (_, i) => pendingOrder(BigInt(i)));
  await importOrders(store, [...before, ...orders]);
  const sorted = orders.toSorted(byId);
  expect((await listedOrders(store)).slice(250)).toEqual(sorted);
  expect((await listedPacked(store)).slice(250)).toEqual(sorted);
});

test('the text of a time always has three decimals', async () => {
  const dates = [0, 1, 10, 12, 100, 120, 123, 999].map((ms) => new Date(Date.UTC(2026, 0, 1, 0, 0, 0, ms)));
  // In the first batch, which is made from strings, and in a later one, which is made from bytes.
  const between = Array.from({ length: 300 }, (_, i) => pendingOrder(BigInt(100 + i)));
  const dated = (from: number) => dates.map((shipDate, i) => ({ ...pendingOrder(BigInt(from + i)), shipDate }));
  await importOrders(store, [...dated(0), ...between, ...dated(1_000)]);
  const texts = dates.map((date) => ({ shipDate: date.toISOString() }));
  const listed: unknown = JSON.parse(await listedText(store));
  expect(listed).toMatchObject([...texts, ...between.map(() => expect.anything()), ...texts]);
});

describe('while others write', () => {
  test('whatever was committed at the beginning is listed exactly once', async () => {
    const { orders } = store.persistence;
    await orders.generateOrders({ count: 20_000, seed: 2, now: NOW });
    // Leaves gaps below, between and behind, where orders come in during the listing.
    await store.query('delete from orders where id % 7 = 0');
    const { rows } = await store.query('select id from orders order by id');
    const before = rows.flat();

    let writing = true;
    const writers = Promise.all([
      (async () => {
        while (writing) await orders.insertOrder(newOrder());
      })(),
      (async () => {
        for (let id = 7n; writing && id < 20_000n; id += 7n)
          await importOrders(store, [pendingOrder(id), pendingOrder(-id)]);
      })(),
      (async () => {
        for (let id = 1n; writing; id += 3n) await orders.applyCommand(orderId(id), 'cancel', NOW);
      })(),
    ]);
    for (let round = 0; round < 5; round++) {
      const listed = parseExactly(await listedText(store));
      if (!Array.isArray(listed)) expect.fail('the list must be an array');
      const ids: readonly bigint[] = listed.map(({ id }) => id);
      expect(ids).toEqual([...new Set(ids)].sort((a, b) => (a < b ? -1 : 1)));
      const seen = new Set(ids.map(String));
      expect(before.filter((id) => !seen.has(id))).toEqual([]);
    }
    writing = false;
    await writers;
  });

  test.each(['jsonChunks', 'packedBatches'] as const)(
    'a listing that nobody reads holds no transaction and blocks nobody: %s',
    async (kind) => {
      await store.persistence.orders.generateOrders({ count: 20_000, seed: 3, now: NOW });
      const listing: AsyncIterator<Uint8Array | readonly Order[] | PackedOrders> = store.persistence.orders
        .listOrders()
        [kind]()
        [Symbol.asyncIterator]();
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
      for await (const chunk of { [Symbol.asyncIterator]: () => listing }) {
        rest += chunk instanceof PackedOrders ? chunk.bytes.length : chunk.length;
      }
      expect(rest).toBeGreaterThan(500_000);
    },
  );
});

describe('lists that are asked for at once', () => {
  const statementsOf = async (work: () => Promise<unknown>) => {
    const sent = vi.spyOn(pg.Client.prototype, 'query');
    await work();
    const { length } = sent.mock.calls;
    sent.mockRestore();
    return length;
  };

  test('cost what one does, and each is whole', async () => {
    await store.persistence.orders.generateOrders({ count: 9_000, seed: 8, now: NOW });
    const [text, packed] = [await listedText(store), await listedPacked(store)];
    const texts: string[] = [];
    const lists: (readonly Order[])[] = [];
    const one = await statementsOf(() => listedText(store));
    expect(one).toBe(4); // 250, 4,000, 4,000 and 750 orders
    const many = (list: () => Promise<unknown>) => () => Promise.all(Array.from({ length: 20 }, list));
    expect(await statementsOf(many(async () => texts.push(await listedText(store))))).toBe(one);
    expect(await statementsOf(many(async () => lists.push(await listedPacked(store))))).toBe(6); // 2,000 in each batch
    expect(new Set(texts)).toEqual(new Set([text]));
    for (const orders of lists) expect(orders).toEqual(packed);
  });

  test('each hold what was committed before they were asked for', async () => {
    const { orders } = store.persistence;
    const others: Promise<string>[] = [];
    for (let round = 0; round < 100; round++) {
      others.push(listedText(store));
      const { id } = await orders.insertOrder(newOrder());
      others.push(listedText(store));
      expect(await listedText(store)).toContain(`{"id":${id},`);
    }
    await Promise.all(others);
  });
});

describe('a listing that is abandoned', () => {
  test.each(['jsonChunks', 'packedBatches', 'batches'] as const)('leaves nothing behind: %s', async (kind) => {
    const { orders } = store.persistence;
    await orders.generateOrders({ count: 30_000, seed: 4, now: NOW });
    // More than there are connections, so that one kept by each would be missed below.
    for (let i = 0; i < 40; i++) {
      const listing = kind === 'batches' ? orders.listOrders() : orders.listOrders()[kind]();
      let chunks = 0;
      for await (const _ of listing) if (++chunks === 1 + (i % 4)) break;
      expect(chunks).toBe(1 + (i % 4));
    }
    expect(await collect(orders.listOrders().jsonChunks())).not.toHaveLength(0);
  });

  test.each(['jsonChunks', 'packedBatches'] as const)('fetches at most one batch ahead: %s', async (kind) => {
    await store.persistence.orders.generateOrders({ count: 50_000, seed: 5, now: NOW });
    const sent = vi.spyOn(pg.Client.prototype, 'query');
    const listing: AsyncIterator<unknown> = store.persistence.orders.listOrders()[kind]()[Symbol.asyncIterator]();
    for (let taken = 1; taken <= 5; taken++) {
      await listing.next();
      await vi.waitUntil(() => sent.mock.calls.length > taken, { timeout: 20_000 });
      await sleep(100);
      expect(sent).toHaveBeenCalledTimes(taken + 1);
    }
    sent.mockRestore();
    await listing.return?.();
  });
});

test('memory stays flat however long the list is', async () => {
  const { orders } = store.persistence;
  await orders.generateOrders({ count: 200_000, seed: 6, now: NOW });
  const peakOf = async (listing: AsyncIterable<unknown>) => {
    const before = await readMemoryInUse();
    let peakBytes = 0;
    let batches = 0;
    for await (const _ of listing) {
      if (++batches % 20 === 0) peakBytes = Math.max(peakBytes, (await readMemoryInUse()) - before);
    }
    return peakBytes;
  };
  // The list is 18 MB of text, and several times that as objects.
  expect(await peakOf(orders.listOrders().jsonChunks())).toBeLessThan(6_000_000);
  expect(await peakOf(orders.listOrders().packedBatches())).toBeLessThan(6_000_000);
  expect(await peakOf(orders.listOrders())).toBeLessThan(6_000_000);
}, 120_000);
