import { INT64_MAX, INT64_MIN, petId, SERVICE_ORIGIN } from '@petstore/domain';
import { PATIENTLY } from '@petstore/testing';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { openPersistence } from '../src/index.ts';
import { importOrders, listedOrders, NOW, newOrder, numbered, pendingOrder, useTestStore } from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

const insert = async () => (await store.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN)).order;
const importIds = (...ids: bigint[]) => importOrders(store, ids.map(pendingOrder));

test('an order that is placed is kept as it was asked for', async () => {
  const request = newOrder({
    petId: petId(INT64_MIN),
    quantity: 2_147_483_647,
    shipDate: new Date('9999-12-31T23:59:59.999Z'),
  });
  const { order } = await store.persistence.orders.insertOrder(request, SERVICE_ORIGIN);
  expect(order).toEqual({ ...request, id: 1n });
  expect(await listedOrders(store)).toEqual([order]);
});

test('orders that a trigger suppresses are an error, and not tried for ever', async () => {
  await store.query(
    `create function suppress() returns trigger language plpgsql as $$ begin return null; end $$;
     create trigger suppress before insert on orders for each row execute function suppress()`,
  );
  try {
    await expect(insert()).rejects.toThrow('does a trigger suppress it?');
    const generated = store.persistence.orders.generateOrders({ count: 2, seed: 1, now: NOW });
    await expect(generated).rejects.toThrow('does a trigger suppress them?');
  } finally {
    await store.query('drop trigger suppress on orders; drop function suppress');
  }
});

describe('ids that were imported are kept, and never given again', () => {
  test('they are counted up from 1, and an id just ahead is skipped', async () => {
    expect((await insert()).id).toBe(1n);
    await importIds(2n);
    expect((await insert()).id).toBe(3n);
    expect((await insert()).id).toBe(4n);
  });

  test('new ids follow the largest of all imports', async () => {
    await importIds(1n, 5n, 8n, 2n);
    expect((await insert()).id).toBe(9n);
    await importIds(4n);
    expect((await insert()).id).toBe(10n);
    await importIds(...Array.from({ length: 2_500 }, (_, i) => 10_000n - BigInt(i)));
    expect((await insert()).id).toBe(10_001n);
  });

  test.each(['refused', 'broken off'])('an import that is %s moves nothing', async (end) => {
    await importIds(5n);
    async function* source() {
      yield* numbered([pendingOrder(70n), pendingOrder(end === 'refused' ? 5n : 71n)]);
      if (end === 'broken off') throw new RangeError('the file ends in the middle of a line');
    }
    const outcome = store.persistence.orders.importOrders(source());
    if (end === 'refused') expect((await outcome).insertedCount).toBe(0);
    else await expect(outcome).rejects.toThrow(RangeError);
    expect((await insert()).id).toBe(6n);
  });

  test('ids at both ends of the range exhaust nothing', async () => {
    await importIds(INT64_MIN, -1n, 0n, 1n, 2n ** 53n, INT64_MAX - 1n, INT64_MAX);
    expect((await insert()).id).toBe(2n);
    expect(await store.persistence.orders.generateOrders({ count: 3, seed: 1, now: NOW })).toBe(3);
    expect((await listedOrders(store)).map(({ id }) => id)).toEqual([
      INT64_MIN, -1n, 0n, 1n, 2n, 3n, 4n, 5n, 2n ** 53n, INT64_MAX - 1n, INT64_MAX,
    ]); // biome-ignore format: one list
  });

  test('ids around 2^53 leave room behind them', async () => {
    const edge = 2n ** 53n;
    await importIds(edge - 1n, ...Array.from({ length: 1_000 }, (_, i) => edge + BigInt(i)), INT64_MAX);
    expect((await insert()).id).toBe(edge + 1_000n);
  });

  test('many processes at once never give one id twice', async () => {
    await importIds(...Array.from({ length: 300 }, (_, i) => BigInt(2 * i + 1)));
    await using other = openPersistence({ databaseUrl: store.url });
    const placed = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        (i % 2 === 0 ? store.persistence : other).orders.insertOrder(newOrder({ quantity: i + 1 }), SERVICE_ORIGIN),
      ),
    );
    expect(new Set(placed.map(({ order }) => order.id)).size).toBe(100);
    const kept = new Map((await listedOrders(store)).map((order) => [order.id, order]));
    for (const { order } of placed) expect(kept.get(order.id)).toEqual(order);
    expect(kept.size).toBe(400);
  });
});

/** What waits for a lock in this database; the tests of other files use the same server. */
async function waitingForLocks(): Promise<readonly string[]> {
  await store.query('select pg_stat_clear_snapshot()'); // else a transaction sees the same sessions all the time
  const { rows } = await store.query(
    `select locktype from pg_locks
     where not granted and pid in (select pid from pg_stat_activity where datname = current_database())`,
  );
  return rows.map(([type]) => String(type));
}

describe('while an import', () => {
  const IDS = Array.from({ length: 5_000 }, (_, i) => BigInt(i + 1));

  test('is read, orders are placed without waiting, and other imports and the making of orders are done', async () => {
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    async function* source() {
      yield* numbered(IDS.slice(10).map(pendingOrder));
      begun.resolve();
      await goOn.promise;
    }
    const outcome = store.persistence.orders.importOrders(source());
    await Promise.race([begun.promise, outcome]);
    expect((await insert()).id).toBe(1n);
    await importIds(2n);
    await store.persistence.orders.generateOrders({ count: 5, seed: 1, now: NOW });
    goOn.resolve();
    expect((await outcome).insertedCount).toBe(IDS.length - 10);
    expect((await insert()).id).toBe(5_001n);
  });

  test('is inserted, orders are placed without waiting, and other imports and the making of orders wait', async () => {
    await using other = openPersistence({ databaseUrl: store.url });
    await store.query('begin');
    await store.query('lock table order_events in share row exclusive mode'); // which events of the import wait for
    const ends: string[] = [];
    const note = (name: string) => () => ends.push(name);
    const waitingFor = async (type: string, count: number) =>
      vi.waitFor(async () => {
        expect((await waitingForLocks()).filter((each) => each === type)).toHaveLength(count);
      }, PATIENTLY);
    const first = importIds(...IDS).then(note('first'));
    await waitingFor('relation', 1);
    const others = [
      importIds(30_000n).then(note('imported')),
      other.orders.generateOrders({ count: 10, seed: 1, now: NOW }).then(note('generated')),
    ];
    await waitingFor('advisory', 2);
    // What the sequence gives while the orders of the import are inserted and not committed.
    expect((await store.query(`select nextval('orders_id_seq')`)).rows).toEqual([['5001']]);
    expect(ends).toEqual([]);
    await store.query('commit');
    await Promise.all([first, ...others]);
    expect(await listedOrders(store)).toHaveLength(5_011);
  });

  test('begins to insert, an order that drew its id just before keeps it', async () => {
    await using other = openPersistence({ databaseUrl: store.url });
    await store.query('begin');
    await store.query(`insert into orders (pet_id, quantity, status, complete, placed_at)
      values (1, 1, 'pending', false, now())`);
    const outcome = other.orders.importOrders(numbered([pendingOrder(3n), pendingOrder(1n)]), { skipBad: true });
    await vi.waitFor(async () => {
      expect(await waitingForLocks()).not.toEqual([]);
    }, PATIENTLY);
    await store.query('commit');
    expect(await outcome).toMatchObject({
      insertedCount: 1,
      rejected: [{ line: 2, reason: 'an order with the id 1 already exists' }],
    });
    expect((await insert()).id).toBe(4n);
  });
});

describe('generated orders', () => {
  const generate = (count: number, seed: number) => store.persistence.orders.generateOrders({ count, seed, now: NOW });

  test('are pending, and vary', async () => {
    expect(await generate(1_000, 1)).toBe(1_000);
    const orders = await listedOrders(store);
    expect(orders).toHaveLength(1_000);
    expect(new Set(orders.map(({ status }) => status))).toEqual(new Set(['pending']));
    expect(new Set(orders.map(({ quantity }) => quantity)).size).toBe(9);
    expect(new Set(orders.map(({ shipDate }) => shipDate !== undefined)).size).toBe(2);
    expect(new Set(orders.map(({ placedAt }) => +placedAt))).toEqual(new Set([+NOW]));
  });

  test('are all there or none is', async () => {
    await expect(generate(1_000, Number.NaN)).rejects.toThrow();
    await expect(
      store.persistence.orders.generateOrders({
        count: 1_000,
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
