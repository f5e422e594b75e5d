import { INT64_MAX, INT64_MIN, type Order, petId } from '@petstore/domain';
import pg from 'pg';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { openPersistence } from '../src/index.ts';
import { importOrders, listedOrders, NOW, newOrder, pendingOrder, useTestStore } from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

const insert = () => store.persistence.orders.insertOrder(newOrder());
const importIds = (...ids: bigint[]) => importOrders(store, ids.map(pendingOrder));

test('an order that is placed is kept as it was asked for', async () => {
  const request = newOrder({
    petId: petId(INT64_MIN),
    quantity: 2_147_483_647,
    shipDate: new Date('9999-12-31T23:59:59.999Z'),
  });
  const order: Order = await store.persistence.orders.insertOrder(request);
  expect(order).toEqual({ ...request, id: 1n });
  expect(await listedOrders(store)).toEqual([order]);
});

test('ids are counted up from 1', async () => {
  expect([(await insert()).id, (await insert()).id, (await insert()).id]).toEqual([1n, 2n, 3n]);
});

describe('ids that were imported are kept, and never given again', () => {
  test('an id just ahead is skipped', async () => {
    await insert();
    await importIds(2n);
    expect((await insert()).id).toBe(3n);
    expect((await insert()).id).toBe(4n);
  });

  test.each([
    ['placed', async () => void (await insert())],
    ['generated', async () => void (await store.persistence.orders.generateOrders({ count: 1, seed: 1, now: NOW }))],
  ])('a long run of ids is skipped at once by an order that is %s', async (_, make) => {
    await importIds(...Array.from({ length: 10_000 }, (_, i) => BigInt(i + 1)));
    const sent = vi.spyOn(pg.Client.prototype, 'query');
    await make();
    expect(sent.mock.calls.length).toBeLessThan(10);
    sent.mockRestore();
    expect((await listedOrders(store)).at(-1)?.id).toBe(10_001n);
  });

  test('gaps between imported ids are filled', async () => {
    await importIds(1n, 2n, 4n, 5n, 8n);
    const ids = [];
    for (let i = 0; i < 5; i++) ids.push((await insert()).id);
    expect(ids).toEqual([3n, 6n, 7n, 9n, 10n]);
  });

  test('ids at both ends of the range exhaust nothing', async () => {
    await importIds(INT64_MIN, -1n, 0n, 1n, INT64_MAX - 1n, INT64_MAX);
    expect((await insert()).id).toBe(2n);
    expect(await store.persistence.orders.generateOrders({ count: 3, seed: 1, now: NOW })).toBe(3);
    expect((await listedOrders(store)).map(({ id }) => id)).toEqual([
      INT64_MIN, -1n, 0n, 1n, 2n, 3n, 4n, 5n, INT64_MAX - 1n, INT64_MAX,
    ]); // biome-ignore format: one list
  });

  test('many processes at once never give one id twice', async () => {
    await importIds(...Array.from({ length: 300 }, (_, i) => BigInt(2 * i + 1)));
    await using other = openPersistence({ databaseUrl: store.url });
    const placed = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        (i % 2 === 0 ? store.persistence : other).orders.insertOrder(newOrder({ quantity: i + 1 })),
      ),
    );
    expect(new Set(placed.map(({ id }) => id)).size).toBe(200);
    const kept = new Map((await listedOrders(store)).map((order) => [order.id, order]));
    for (const order of placed) expect(kept.get(order.id)).toEqual(order);
    expect(kept.size).toBe(500);
  });
});

describe('generated orders', () => {
  const generate = (count: number, seed: number) => store.persistence.orders.generateOrders({ count, seed, now: NOW });
  const contents = async () => (await listedOrders(store)).map(({ id, ...facts }) => facts);

  test('are pending, and vary', async () => {
    expect(await generate(1_000, 1)).toBe(1_000);
    const orders = await listedOrders(store);
    expect(orders).toHaveLength(1_000);
    expect(new Set(orders.map(({ status }) => status))).toEqual(new Set(['pending']));
    expect(new Set(orders.map(({ quantity }) => quantity)).size).toBe(9);
    expect(orders.some(({ shipDate }) => shipDate === undefined)).toBe(true);
    expect(orders.some(({ shipDate }) => shipDate !== undefined)).toBe(true);
    expect(orders.every(({ placedAt }) => placedAt.getTime() === NOW.getTime())).toBe(true);
  });

  test('are the same for the same seed, whatever ids are taken, and others for another', async () => {
    await generate(500, 1);
    const first = await contents();
    await store.query('truncate orders');
    await generate(500, 1);
    expect(await contents()).toEqual(first);
    await store.query('truncate orders restart identity');
    const taken = Array.from({ length: 250 }, (_, i) => pendingOrder(BigInt(2 * i)));
    await importOrders(store, taken);
    await generate(500, 1);
    const takenIds = new Set(taken.map(({ id }) => id));
    const fresh = (await listedOrders(store)).filter(({ id }) => !takenIds.has(id)).map(({ id, ...facts }) => facts);
    expect(fresh).toEqual(first);
    await store.query('truncate orders');
    await generate(500, 2);
    expect(await contents()).not.toEqual(first);
  });

  test('tell how far they are', async () => {
    const steps: number[] = [];
    await store.persistence.orders.generateOrders({
      count: 120_000,
      seed: 1,
      now: NOW,
      onProgress: (n) => steps.push(n),
    });
    expect(steps).toEqual([50_000, 100_000, 120_000]);
  });

  test('are all there or none is', async () => {
    await expect(generate(60_000, Number.NaN)).rejects.toThrow();
    await expect(
      store.persistence.orders.generateOrders({
        count: 60_000,
        seed: 1,
        now: NOW,
        onProgress: () => {
          throw new Error('the reader is gone');
        },
      }),
    ).rejects.toThrow('the reader is gone');
    expect(await listedOrders(store)).toEqual([]);
  });
});
