import { INT64_MAX, INT64_MIN, type Order, StorageUnavailableError } from '@petstore/domain';
import { PATIENTLY } from '@petstore/testing';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { ImportItem } from '../src/import-rows.ts';
import { listedOrders, numbered, pendingOrder, shippedOrder, useTestStore } from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

const importAll = (orders: Iterable<Order>, options = {}) =>
  store.persistence.orders.importOrders(numbered(orders), options);
const waiting = async () => (await store.query('select from pg_locks where not granted')).rows;
const listedIds = async () => (await listedOrders(store)).map(({ id }) => id);

describe('what is recorded in the log is the order that came in, once, and no other', () => {
  const recorded = async () =>
    (await store.query('select order_id from order_events order by order_id')).rows.map(([id]) => BigInt(id ?? ''));
  const from = (first: bigint, count: number) => Array.from({ length: count }, (_, i) => first + BigInt(i));

  test.each([
    ['ids that follow one another', from(0n, 5_000)],
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

describe('an id that is taken', () => {
  const many = (from: number, count: number) => Array.from({ length: count }, (_, i) => pendingOrder(BigInt(from + i)));

  test('within one file keeps its first line, near or far', async () => {
    const orders = [shippedOrder(1n), pendingOrder(1n), ...many(10, 5_000), pendingOrder(1n), pendingOrder(9n)];
    expect(await importAll(orders, { skipBad: true })).toEqual({
      readCount: 5_004,
      insertedCount: 5_002,
      rejected: [
        { line: 2, reason: 'the id 1 repeats that of an earlier line' },
        { line: 5_003, reason: 'the id 1 repeats that of an earlier line' },
      ],
      rejectedCount: 2,
    });
    expect((await listedOrders(store))[0]).toEqual(shippedOrder(1n));
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
      rejected: [{ line: 2, reason: 'an order with the id 70000 already exists' }],
      rejectedCount: 1,
    });
    expect(await listedIds()).toEqual([69_999n, 70_000n]);
  });
});

test.each([
  ['a plain error', new RangeError('the file ends in the middle of a line')],
  ['one of the system', Object.assign(new Error('the share is gone'), { code: 'ECONNRESET' })],
])('a source that fails with %s leaves nothing behind, and its own error comes through', async (_, error) => {
  async function* failing(): AsyncGenerator<ImportItem<Order>> {
    for (let line = 1; line <= 5_000; line++) yield { line, value: pendingOrder(BigInt(line)) };
    throw error;
  }
  await expect(store.persistence.orders.importOrders(failing())).rejects.toBe(error);
  expect(await listedIds()).toEqual([]);
});

test('an import fails if the server ends its session while it reads its source', async () => {
  async function* ending(): AsyncGenerator<ImportItem<Order>> {
    yield { line: 1, value: pendingOrder(1n) };
    const end = () =>
      store.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where query like 'copy staged%' and state = 'active' and datname = current_database()`,
      );
    await expect.poll(end).toMatchObject({ rowCount: 1 });
    for (let line = 2; line < 100_000; line++) yield { line, value: pendingOrder(BigInt(line)) };
  }
  await expect(store.persistence.orders.importOrders(ending())).rejects.toThrow(StorageUnavailableError);
});
