import { randomBytes } from 'node:crypto';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import {
  generateApiKeyId,
  type OrderId,
  orderId,
  petId,
  SERVICE_ORIGIN,
  StorageUnavailableError,
} from '@petstore/domain';
import { PATIENTLY } from '@petstore/testing';
import { describe, test, vi } from 'vitest';
import { openPersistence, type Persistence } from '../src/index.ts';
import { collect, createRole, importOrders, NOW, newKey, newOrder, openTestStore, pendingOrder } from './support.ts';

const placeFor = (pet: bigint) => (persistence: Persistence) =>
  persistence.orders.insertOrder(newOrder({ petId: petId(pet) }), SERVICE_ORIGIN);
const cancel = (id: bigint) => (persistence: Persistence) =>
  persistence.orders.applyCommand(orderId(id), 'cancel', NOW, SERVICE_ORIGIN);

describe.concurrent('however long PostgreSQL takes', () => {
  test('a change that takes several statements is given up after 2.4 seconds in all', async ({ expect }) => {
    await using store = await openTestStore();
    // Each attempt takes less than a statement may, and is undone; there would be five.
    await store.query(
      `create function lose_slowly() returns trigger language plpgsql as $$ begin
         perform pg_sleep(1.5); raise exception 'lost' using errcode = '40001';
       end $$;
       create trigger lose_slowly before insert on orders for each row execute function lose_slowly()`,
    );
    await using persistence = openPersistence({ databaseUrl: store.url });
    const beganMs = performance.now();
    await expect(persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN)).rejects.toThrow('did not respond in time');
    expect(performance.now() - beganMs).toBeLessThan(6_000); // twice the time that is promised
    // The caller may have repeated the call by now, so nothing more is sent for this one.
    await expect.poll(() => persistence.load().statementsInFlight.writes, { timeout: 4_000 }).toBe(0);
  });

  test.for([
    { title: 'placed', operation: 'insert', first: placeFor(1n), second: placeFor(2n), done: 'pet_id = 1' },
    {
      title: 'cancelled',
      operation: 'update',
      first: cancel(1n),
      second: cancel(2n),
      done: `id = 1 and status <> 'pending'`,
    },
  ])(
    'an order is not $title from a queue after its caller got 503',
    async ({ operation, first, second, done }, { expect }) => {
      await using store = await openTestStore();
      await importOrders(store, [pendingOrder(1n), pendingOrder(2n)]);
      // The first statement is to be repeated, and waits behind the second for the only connection of commits.
      await store.query(
        `create sequence turns;
       create function lose_first() returns trigger language plpgsql as $$ begin
         perform pg_sleep(1.5);
         if nextval('turns') = 1 then raise exception 'lost' using errcode = '40001'; end if;
         return new;
       end $$;
       create trigger lose_first before ${operation} on orders for each row execute function lose_first()`,
      );
      await using persistence = openPersistence({ databaseUrl: store.url, connections: 2 });
      await persistence.ping();
      const refused = expect(first(persistence)).rejects.toThrow(StorageUnavailableError);
      await expect.poll(() => persistence.load().statementsInFlight.writes).toBe(1);
      await Promise.all([refused, second(persistence).catch(() => {})]);
      await expect.poll(() => persistence.load().statementsInFlight.writes, { timeout: 8_000 }).toBe(0);
      expect((await store.query(`select from orders where ${done}`)).rows).toEqual([]);
    },
  );

  test('an order is not cancelled after its caller got 503, along with one whose caller still waits', async ({
    expect,
  }) => {
    await using store = await openTestStore();
    await importOrders(store, [1n, 2n, 3n, 4n].map(pendingOrder));
    await store.query(
      `create function be_slow() returns trigger language plpgsql as $$ begin perform pg_sleep(1.6); return new; end $$;
       create trigger be_slow before update on orders for each row when (new.id < 3) execute function be_slow()`,
    );
    // Commits have one connection: the first two statements take it for 3.2 seconds.
    await using persistence = openPersistence({ databaseUrl: store.url, connections: 2 });
    await persistence.ping();
    const calls = [];
    for (const [id, pauseMs] of [
      [1n, 50],
      [2n, 50],
      [3n, 1_350],
      [4n, 0],
    ] as const) {
      calls.push(
        cancel(id)(persistence).then(
          () => 'cancelled',
          () => '503',
        ),
      );
      await sleep(pauseMs);
    }
    const outcomes = await Promise.all(calls);
    await expect.poll(() => persistence.load().statementsInFlight.writes, { timeout: 8_000 }).toBe(0);
    const { rows } = await store.query(`select id from orders where status = 'cancelled' order by id`);
    expect(outcomes).toEqual(['cancelled', '503', '503', 'cancelled']);
    expect(rows.flat()).toEqual(['1', '2', '4']);
  });

  test('slow pages, however many, leave connections to short reads', async ({ expect }) => {
    await using store = await openTestStore();
    const { order } = await store.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
    const databaseUrl = await createRole(store.url, 'pager'); // the table's owner is not subject to the policy
    await store.query(
      `create policy slow on orders to pager using (
         case when current_query() like '%limit%' then pg_advisory_xact_lock_shared(1) is not null else true end
       );
       alter table orders enable row level security;
       select pg_advisory_lock(1)`,
    );
    await using persistence = openPersistence({ databaseUrl, patienceMs: 30_000 });
    await persistence.ping();
    let slowCount = 20;
    const slow = Promise.all(
      Array.from({ length: slowCount }, (_, i) =>
        persistence.orders.findOrders({ filter: {}, limit: i + 1 }).finally(() => slowCount--),
      ),
    );
    await expect.poll(() => persistence.load().statementsInFlight.long).toBe(20);
    expect(await persistence.orders.findOrder(order.id)).toEqual(order);
    expect(slowCount).toBe(20);
    await store.query('select pg_advisory_unlock(1)');
    await slow;
  });

  test('a burst waits for the connections there are where the role may have only a few, and more are opened when it may', async ({
    expect,
  }) => {
    await using store = await openTestStore();
    const databaseUrl = await createRole(store.url, 'few');
    await store.query('alter role few connection limit 5');
    const ids: OrderId[] = Array.from({ length: 20 }, (_, i) => orderId(BigInt(i + 1)));
    await importOrders(store, ids.map(pendingOrder));
    await store.persistence.orders.generateOrders({ count: 4_000, seed: 1, now: NOW });
    let saidCount = 0; // a mock would be cleared when a test beside this one begins
    await using persistence = openPersistence({
      databaseUrl,
      patienceMs: 10_000,
      onFewConnections: () => saidCount++,
    });
    const { orders, apiKeys } = persistence;
    const [listed, ...others] = await Promise.all([
      collect(orders.listOrders()),
      ...ids.map((id) => orders.findOrder(id)),
      ...ids.map((id) => orders.applyCommand(id, 'cancel', NOW, SERVICE_ORIGIN)),
      ...ids.map(() => apiKeys.findSecret(randomBytes(32))),
    ]);
    expect(listed.flatMap(({ orders: batch }) => batch)).toHaveLength(4_020);
    expect(others).toHaveLength(60);
    expect(persistence.load().openConnections).toBeLessThanOrEqual(4);
    expect(saidCount).toBe(1);

    await store.query('alter role few connection limit -1');
    await vi.waitFor(async () => {
      await Promise.all(ids.map((id) => orders.findOrder(id)));
      expect(persistence.load().openConnections).toBeGreaterThan(4);
    }, PATIENTLY);
  });

  describe('while keys are locked', () => {
    const ORDERS = Array.from({ length: 20 }, (_, i) => pendingOrder(BigInt(i + 1)));
    const KEYS = Array.from({ length: 50 }, () => generateApiKeyId(randomBytes));
    const cancelAll = async ({ orders }: Persistence) => {
      for (const { id } of ORDERS) await orders.applyCommand(id, 'cancel', NOW, SERVICE_ORIGIN);
    };

    test('one by one, marks of their use are left out', async ({ expect }) => {
      await using store = await openTestStore();
      await importOrders(store, ORDERS);
      await using persistence = openPersistence({ databaseUrl: store.url, connections: 4 });
      for (const id of KEYS) {
        await persistence.keyAdministration.createKey(newKey(id), randomBytes(32));
      }
      await store.query('begin');
      await store.query('select from api_keys for update');
      await Promise.all(KEYS.map((id) => persistence.apiKeys.markKeyUsed(id, NOW)));
      await cancelAll(persistence);
      await store.query('rollback');
      expect((await store.query('select from api_keys where last_used_at is null')).rows).toHaveLength(KEYS.length);
    });

    test('as a whole, marks of their use share one connection, and commands pass', async ({ expect }) => {
      await using store = await openTestStore();
      await importOrders(store, ORDERS);
      await using persistence = openPersistence({ databaseUrl: store.url, connections: 4, patienceMs: 30_000 });
      await store.query('begin; lock table api_keys in share row exclusive mode');
      const marks: Promise<void>[] = [];
      let waitingCount = KEYS.length;
      for (const id of KEYS) {
        marks.push(persistence.apiKeys.markKeyUsed(id, NOW).finally(() => waitingCount--));
        await turn(); // those of one turn share a statement anyway
      }
      await cancelAll(persistence);
      expect(waitingCount).toBe(KEYS.length);
      await store.query('rollback');
      await Promise.all(marks);
    });
  });
});
