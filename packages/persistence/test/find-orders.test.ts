import {
  INSTANT_MAX,
  INSTANT_MIN,
  INT64_MAX,
  INT64_MIN,
  matchesFilter,
  ORDER_STATUSES,
  type Order,
  type OrderFilter,
  type OrderId,
  type OrderPageRequest,
  orderId,
  petId,
  SERVICE_ORIGIN,
  type SortOrder,
  type StoredOrder,
} from '@petstore/domain';
import fc from 'fast-check';
import pg from 'pg';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { setSession, shortSession } from '../src/database/connection.ts';
import type { Database } from '../src/database/database.ts';
import { TIMEOUTS_MS } from '../src/database/timeouts.ts';
import { findOrders } from '../src/orders/find-orders.ts';
import {
  cancelledOrder,
  completedOrder,
  importOrders,
  listedOrders,
  NOW,
  newOrder,
  pendingOrder,
  shippedOrder,
  useTestStore,
} from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

const idsOf = (orders: readonly StoredOrder[]) => orders.map(({ id }) => id);
const byId = (a: Order, b: Order) => (a.id < b.id ? -1 : 1);

/** Reads all pages, one after the other. */
async function readPages(
  filter: OrderFilter,
  limit: number,
  order: SortOrder | undefined = undefined,
  betweenPages: () => void | Promise<void> = () => {},
): Promise<StoredOrder[][]> {
  const pages: StoredOrder[][] = [];
  let afterId: OrderId | undefined;
  for (;;) {
    const page = await store.persistence.orders.findOrders({
      filter,
      limit,
      ...(order && { order }),
      ...(afterId !== undefined && { afterId }),
    });
    pages.push([...page.items]);
    if (page.nextAfterId === undefined) return pages;
    afterId = page.nextAfterId;
    await betweenPages();
  }
}

const SOME_DATES = ['2026-05-01T00:00:00.000Z', '2026-05-01T00:00:00.001Z', '2026-06-01T12:00:00.500Z'].map(
  (text) => new Date(text),
);
const PETS = [INT64_MIN, 1n, 7n, INT64_MAX].map(petId);
const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const shipDates = fc.constantFrom(...SOME_DATES, INSTANT_MIN, INSTANT_MAX);

const anyOrder = fc
  .record({
    make: fc.constantFrom(pendingOrder, shippedOrder, completedOrder, cancelledOrder),
    id: fc.oneof(fc.bigInt({ min: INT64_MIN, max: INT64_MAX }), fc.constantFrom(INT64_MIN, -1n, 0n, INT64_MAX)),
    pet: fc.constantFrom(...PETS),
    shipDate: optional(shipDates),
  })
  .map(({ make, id, pet, shipDate }): Order => ({ ...make(id), petId: pet, ...(shipDate && { shipDate }) }));

const anyFilter = fc
  .record({
    statuses: optional(fc.subarray([...ORDER_STATUSES], { minLength: 1 })),
    petId: optional(fc.constantFrom(...PETS)),
  })
  .map(withoutUndefined);

function withoutUndefined(parts: Record<string, unknown>): OrderFilter {
  return Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined));
}

test('pages are what the domain says that a filter wants, once each, in the order of ids, all of them full but the last', async () => {
  const anyOrders = fc.uniqueArray(anyOrder, { selector: ({ id }) => id, maxLength: 60, size: 'max' });
  await fc.assert(
    fc.asyncProperty(anyOrders, fc.array(anyFilter, { minLength: 5 }), async (orders, filters) => {
      await store.query('truncate orders');
      await importOrders(store, orders);
      for (const [i, filter] of [{}, ...filters].entries()) {
        const wanted = orders.filter((order) => matchesFilter(order, filter)).sort(byId);
        const limit = 1 + (i % 7) * 3;
        for (const order of [undefined, 'desc'] as const) {
          const pages = await readPages(filter, limit, order);
          expect(pages.flat()).toEqual(order === 'desc' ? wanted.toReversed() : wanted);
          expect(pages.slice(0, -1).every(({ length }) => length === limit)).toBe(true);
          expect(pages.at(-1)?.length).toBeGreaterThanOrEqual(wanted.length === 0 ? 0 : 1);
        }
      }
    }),
    { numRuns: 12 },
  );
});

test.each<[SortOrder, bigint]>([
  ['asc', INT64_MAX],
  ['desc', INT64_MIN],
])('behind the last id there is nothing: %s', async (order, id) => {
  await importOrders(store, [pendingOrder(id)]);
  for (const filter of [{}, { statuses: ['pending'] }] satisfies OrderFilter[]) {
    const page = await store.persistence.orders.findOrders({ filter, order, limit: 5, afterId: orderId(id) });
    expect(page).toEqual({ items: [] });
  }
});

describe('while others write', () => {
  /** Writes until it is stopped: new orders at the end, in gaps and below; and it cancels, ships and completes. */
  function startWriting() {
    const { orders } = store.persistence;
    let isOn = true;
    let written = 0;
    const repeat = async (write: (turn: number) => Promise<unknown>) => {
      for (let turn = 1; isOn && turn <= 10_000; turn++) {
        await write(turn);
        written++;
      }
    };
    const insert = (turn: number) =>
      store.query(
        `insert into orders (id, pet_id, quantity, status, complete, placed_at)
         select id, 7, 1, 'pending', false, now() from unnest(array[$1::bigint, $2]) id on conflict do nothing`,
        [(turn * 7) % 3_000, -turn],
      );
    const command = (name: 'cancel' | 'ship' | 'complete', step: number) => (turn: number) =>
      orders.applyCommand(orderId(BigInt((turn * step) % 3_000)), name, NOW, SERVICE_ORIGIN);
    const writers = Promise.all([
      repeat(() => orders.insertOrder(newOrder(), SERVICE_ORIGIN)),
      repeat(insert),
      repeat(command('cancel', 11)),
      repeat(command('ship', 13)),
      repeat(command('complete', 13)),
    ]);
    const stop = async () => {
      isOn = false;
      await writers;
    };
    return { stop, written: () => written };
  }

  test.each<[string, OrderFilter, SortOrder, number]>([
    ['without a filter', {}, 'asc', 300],
    ['of a status', { statuses: ['pending'] }, 'desc', 37],
    ['of statuses', { statuses: ['shipped', 'cancelled'] }, 'asc', 37],
    ['of a pet and a status', { petId: petId(7n), statuses: ['pending'] }, 'asc', 37],
  ])('pages %s hold no order twice, and miss none that was wanted throughout', async (_, filter, order, limit) => {
    const { orders } = store.persistence;
    await orders.generateOrders({ count: 3_000, seed: 2, now: NOW });
    await store.query('update orders set pet_id = 7 where id % 3 = 0');
    // Leaves gaps, where orders come in meanwhile.
    await store.query('delete from orders where id % 7 = 0');
    const before = await listedOrders(store);
    const writing = startWriting();
    let writtenBefore = 0;
    const pages = await readPages(filter, limit, order, async () => {
      // Something is written between any two pages, else this would prove nothing.
      await vi.waitUntil(() => writing.written() > writtenBefore + 5, { interval: 1, timeout: 20_000 });
      writtenBefore = writing.written();
    });
    await writing.stop();
    const after = new Map((await listedOrders(store)).map((order) => [order.id, order]));

    const ids = idsOf(pages.flat());
    const sorted = [...new Set(ids)].sort((a, b) => (a < b ? -1 : 1));
    expect(ids).toEqual(order === 'asc' ? sorted : sorted.reverse());
    for (const order of pages.flat()) expect(matchesFilter(order, filter)).toBe(true);
    // No state is entered twice: what was wanted before and is wanted afterwards was so throughout.
    const throughout = before.filter((order) => {
      const now = after.get(order.id);
      return matchesFilter(order, filter) && now !== undefined && matchesFilter(now, filter);
    });
    const seen = new Set(ids);
    expect(throughout.filter(({ id }) => !seen.has(id))).toEqual([]);
  });
});

const INDEXES: readonly (readonly [filter: OrderFilter, index: string])[] = [
  [{}, 'orders_pkey'],
  [{ petId: petId(7n) }, 'orders_pet_id_id_index'],
  [{ statuses: ['cancelled'] }, 'orders_status_id_index'],
  [{ petId: petId(7n), statuses: ['cancelled'] }, 'orders_pet_id_id_index'],
];

test('a page begins where it stands in an index, whatever its filter, in each order', async () => {
  await store.persistence.orders.generateOrders({ count: 5_000, seed: 4, now: NOW });
  await store.query(`update orders set status = 'cancelled', cancelled_at = placed_at where id % 10 = 0`);
  await store.query('analyze orders');
  for (const [filter, index] of INDEXES) {
    for (const order of ['asc', 'desc'] as const) {
      for (const page of [{}, { afterId: orderId(2_500n) }]) {
        const plan = await explainPage({ filter, order, limit: 100, ...page });
        expect(plan).toMatch(new RegExp(`^Limit .*\\n *->  Index Scan( Backward)? using ${index} on orders`));
        if (page.afterId !== undefined) expect(plan).toMatch(/Index Cond: .*id\)? [<>] /);
      }
    }
  }
});

/** The plan of a page as requests run it: with the settings of their sessions, whatever the values. */
async function explainPage(request: OrderPageRequest): Promise<string> {
  let plan = '';
  const client = new pg.Client(store.url);
  await client.connect();
  await setSession(client, shortSession, TIMEOUTS_MS);
  const run: Database['run'] = async (_, { text }, values) => {
    await client.query(`prepare page as ${text}`);
    const texts = values.map((value) => (Array.isArray(value) ? `{${value}}` : String(value)));
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `explain execute page (${texts.map(pg.escapeLiteral).join()})`,
    );
    plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    return [];
  };
  await findOrders({ run } as Database, request).finally(() => client.end());
  return plan;
}

test('one order is found as it is, also while another transaction has it locked', async () => {
  const order = completedOrder(7_000n);
  await importOrders(store, [order]);
  await store.query('begin');
  await store.query('select from orders where id = 7000 for update');
  expect(await store.persistence.orders.findOrder(order.id)).toEqual(order);
  await store.query('rollback');
  expect(await store.persistence.orders.findOrder(orderId(-404n))).toBeUndefined();
});
