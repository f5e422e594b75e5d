import { INT64_MAX, INT64_MIN, type Order, petId, SERVICE_ORIGIN } from '@petstore/domain';
import { PATIENTLY } from '@petstore/testing';
import pg from 'pg';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { openPersistence } from '../src/index.ts';
import { importOrders, listedOrders, NOW, newOrder, numbered, pendingOrder, useTestStore } from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

const insert = () => store.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
const importIds = (...ids: bigint[]) => importOrders(store, ids.map(pendingOrder));

test('an order that is placed is kept as it was asked for', async () => {
  const request = newOrder({
    petId: petId(INT64_MIN),
    quantity: 2_147_483_647,
    shipDate: new Date('9999-12-31T23:59:59.999Z'),
  });
  const order: Order = await store.persistence.orders.insertOrder(request, SERVICE_ORIGIN);
  expect(order).toEqual({ ...request, id: 1n });
  expect(await listedOrders(store)).toEqual([order]);
});

test('ids are counted up from 1', async () => {
  expect([(await insert()).id, (await insert()).id, (await insert()).id]).toEqual([1n, 2n, 3n]);
});

test('orders that a trigger suppresses are an error, and not tried for ever', async () => {
  await store.query(
    `create function suppress() returns trigger language plpgsql as $$ begin return null; end $$;
     create trigger suppress before insert on orders for each row execute function suppress()`,
  );
  try {
    await expect(insert()).rejects.toThrow('does a trigger suppress it?');
    const generated = store.persistence.orders.generateOrders({ count: 2, seed: 1, now: NOW });
    await expect(generated).rejects.toThrow('does a trigger suppress it?');
  } finally {
    await store.query('drop trigger suppress on orders; drop function suppress');
  }
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
    expect(sent.mock.calls.length).toBeLessThan(15);
    sent.mockRestore();
    expect((await listedOrders(store)).at(-1)?.id).toBe(10_001n);
  });

  test('new ids follow the largest of all imports', async () => {
    await importIds(1n, 5n, 8n, 2n);
    expect((await insert()).id).toBe(9n);
    await importIds(4n);
    expect((await insert()).id).toBe(10n);
    await importIds(...Array.from({ length: 2_500 }, (_, i) => 10_000n - BigInt(i)));
    expect((await insert()).id).toBe(10_001n);
  });

  test('new ids follow the largest id that was inserted past the generator, in a step or two', async () => {
    await store.query(`insert into orders (id, pet_id, quantity, status, complete, placed_at)
      select g, 1, 1, 'pending', false, now() from generate_series(1, 100000) g`);
    const sent = vi.spyOn(pg.Client.prototype, 'query');
    expect((await insert()).id).toBe(100_001n);
    expect(sent.mock.calls.length).toBeLessThan(15);
    sent.mockRestore();
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
      Array.from({ length: 200 }, (_, i) =>
        (i % 2 === 0 ? store.persistence : other).orders.insertOrder(newOrder({ quantity: i + 1 }), SERVICE_ORIGIN),
      ),
    );
    expect(new Set(placed.map(({ id }) => id)).size).toBe(200);
    const kept = new Map((await listedOrders(store)).map((order) => [order.id, order]));
    for (const order of placed) expect(kept.get(order.id)).toEqual(order);
    expect(kept.size).toBe(500);
  });
});

describe('while an import is open', () => {
  /** What an import has taken in before it is resumed. */
  const FIRST = 15_000;

  async function withOpenImport(last: bigint, work: () => Promise<void>) {
    const arrived = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    async function* source() {
      // Whole batches only, so that all of them are inserted.
      yield* numbered(Array.from({ length: 20_000 }, (_, i) => pendingOrder(BigInt(i + 1))));
      await goOn.promise;
      yield { line: 20_001, value: pendingOrder(last) };
    }
    const onProgress = (count: number) => count > FIRST && arrived.resolve();
    const outcome = store.persistence.orders.importOrders(source(), { onProgress });
    try {
      await Promise.race([arrived.promise, outcome]);
      await work();
    } finally {
      goOn.resolve();
    }
    return outcome;
  }

  test('orders are placed without waiting, under ids that the import does not bring', async () => {
    const placed: Order[] = [];
    const { insertedCount } = await withOpenImport(20_001n, async () => {
      const began = performance.now();
      for (let i = 0; i < 20; i++) placed.push(await insert());
      expect(performance.now() - began).toBeLessThan(2_000); // where one waits for a lock, it fails after that time
    });
    expect(insertedCount).toBe(20_001);
    expect(placed.every(({ id }) => id > 20_001n)).toBe(true);
    const { id } = await insert();
    expect(id).toBe((placed.at(-1)?.id ?? 0n) + 1n);
    expect(await listedOrders(store)).toHaveLength(20_022);
  });

  test('an id far beyond those before it is brought all the same', async () => {
    const last = 5_000_000_000_000n;
    const { insertedCount } = await withOpenImport(last, async () => void (await insert()));
    expect(insertedCount).toBe(20_001);
    expect((await insert()).id).toBe(last + 1n);
  });

  test('another import and the making of orders wait until it is done', async () => {
    const ends: string[] = [];
    let others: Promise<unknown> | undefined;
    await withOpenImport(20_001n, async () => {
      const note = (name: string) => () => ends.push(name);
      others = Promise.all([
        importIds(30_000n).then(note('imported')),
        store.persistence.orders.generateOrders({ count: 10, seed: 1, now: NOW }).then(note('generated')),
      ]);
      await vi.waitFor(async () => {
        const { rows } = await store.query(`select from pg_locks where locktype = 'advisory' and not granted`);
        expect(rows).toHaveLength(2);
      }, 10_000);
      expect(ends).toEqual([]);
    });
    await others;
    expect(ends).toHaveLength(2);
    expect(await listedOrders(store)).toHaveLength(20_012);
  });

  test('and is refused in the end, the ids that it has kept free are given back before the next one begins', async () => {
    let next: Promise<unknown> | undefined;
    const { insertedCount } = await withOpenImport(1n, async () => {
      next = importIds(30_000n);
      await vi.waitFor(async () => {
        const { rows } = await store.query(`select from pg_locks where locktype = 'advisory' and not granted`);
        expect(rows).toHaveLength(1);
      }, 10_000);
    });
    await next;
    expect(insertedCount).toBe(0);
    expect((await insert()).id).toBe(30_001n);
  });

  test('an order that drew its id just before keeps it', async () => {
    await using other = openPersistence({ databaseUrl: store.url });
    const place = async () => (await store.query('select last_value from orders_id_seq')).rows;
    await store.query('begin');
    await store.query('lock table orders in row exclusive mode'); // as an insert does before it draws
    expect((await store.query(`select nextval('orders_id_seq')`)).rows).toEqual([['1']]);
    const outcome = other.orders.importOrders(numbered([pendingOrder(3n), pendingOrder(1n)]), { skipBad: true });
    await vi.waitFor(async () => expect(await place()).not.toEqual([['1']]), PATIENTLY);
    await store.query(`insert into orders (id, pet_id, quantity, status, complete, placed_at)
      values (1, 1, 1, 'pending', false, now())`);
    await store.query('commit');
    expect(await outcome).toEqual({
      insertedCount: 1,
      rejected: [{ line: 2, reason: 'an order with the id 1 exists already' }],
      rejectedCount: 1,
    });
    expect((await insert()).id).toBe(4n);
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

  test('report their progress', async () => {
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
