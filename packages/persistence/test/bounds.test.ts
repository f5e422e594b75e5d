import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  generateApiKeyId,
  LISTED_FIELDS,
  type OrderId,
  orderId,
  petId,
  SERVICE_ORIGIN,
  StorageUnavailableError,
} from '@petstore/domain';
import { PATIENTLY } from '@petstore/testing';
import { describe, expect, test, vi } from 'vitest';
import { openPersistence, type Persistence } from '../src/index.ts';
import { collect, importOrders, NOW, newOrder, openTestStore, pendingOrder } from './support.ts';

/** What PostgreSQL itself says when it ends a statement; a connection that is cut says something else. */
const givenUp = (kind: 'lock' | 'statement') =>
  new StorageUnavailableError(`PostgreSQL is not available: canceling statement due to ${kind} timeout`);

/** How long something waits in vain, in milliseconds. */
async function waitInVain(waiting: Promise<unknown>, error: Error): Promise<number> {
  const begin = performance.now();
  await expect(waiting).rejects.toThrow(error);
  return performance.now() - begin;
}

const placeFor = (pet: bigint) => (persistence: Persistence) =>
  persistence.orders.insertOrder(newOrder({ petId: petId(pet) }), SERVICE_ORIGIN);
const cancel = (id: bigint) => (persistence: Persistence) =>
  persistence.orders.applyCommand(orderId(id), 'cancel', NOW, SERVICE_ORIGIN);

describe.concurrent('however long PostgreSQL takes', () => {
  test('while another session has all orders locked, statements are given up by the server after a second', async ({
    expect,
  }) => {
    await using store = await openTestStore();
    const { orders } = store.persistence;
    const { id } = (await orders.insertOrder(newOrder(), SERVICE_ORIGIN)).order;
    await store.query('begin');
    await store.query('lock table orders in access exclusive mode');
    try {
      const statements = [
        orders.findOrders({ filter: {}, limit: 1 }),
        orders.findOrders({ filter: { statuses: ['cancelled'] }, limit: 1 }),
        collect(orders.listOrders()),
        collect(orders.listOrderTexts(LISTED_FIELDS)),
        orders.insertOrder(newOrder(), SERVICE_ORIGIN),
        orders.applyCommand(id, 'cancel', NOW, SERVICE_ORIGIN),
      ];
      for (const waitedMs of await Promise.all(statements.map((waiting) => waitInVain(waiting, givenUp('lock'))))) {
        expect(waitedMs).toBeGreaterThan(750);
        expect(waitedMs).toBeLessThan(10_000); // of slowness nothing is said here
      }
    } finally {
      await store.query('rollback');
    }
    await expect(orders.applyCommand(id, 'cancel', NOW, SERVICE_ORIGIN)).resolves.toMatchObject({ applied: true });
  });

  test('behind a table that is locked for three seconds no connection is lost', async ({ expect }) => {
    await using store = await openTestStore();
    await using persistence = openPersistence({ databaseUrl: store.url });
    const { orders } = persistence;
    const listPids = async () => {
      const { rows } = await store.query(
        `select pid from pg_stat_activity where datname = current_database() and application_name = 'petstore'`,
      );
      return rows.flat();
    };
    const call = (i: number): Promise<unknown> =>
      i % 2 === 0 ? orders.findOrder(orderId(1n)) : orders.applyCommand(orderId(1n), 'cancel', NOW, SERVICE_ORIGIN);
    const others = new Set(await listPids());
    await store.query('begin; lock table orders in access exclusive mode');
    const beganMs = performance.now();
    try {
      // The statements are not prepared yet, so all of their steps wait.
      const waiting = Array.from({ length: 32 }, (_, i) => sleep(i * 10).then(() => call(i)));
      await expect.poll(() => persistence.load().openConnections).toBe(16);
      const before = (await listPids()).filter((pid) => !others.has(pid));
      const outcomes = await Promise.allSettled(waiting);
      for (const { status } of outcomes) expect(status).toBe('rejected');
      await sleep(Math.max(0, beganMs + 3_000 - performance.now()));
      await store.query('rollback');
      await Promise.all(Array.from({ length: 32 }, (_, i) => call(i)));
      expect(await listPids()).toEqual(expect.arrayContaining(before));
    } finally {
      await store.query('rollback');
    }
  });

  test('a change that takes several statements is given up after 2.4 seconds in all', async ({ expect }) => {
    await using store = await openTestStore();
    // Each attempt takes less than a statement may, and is undone; there would be five.
    await store.query(
      `create function lose_slowly() returns trigger language plpgsql as $$ begin
         perform pg_sleep(1.5); raise exception 'lost' using errcode = '40001';
       end $$;
       create trigger lose_slowly before insert on orders for each row execute function lose_slowly()`,
    );
    const late = new StorageUnavailableError('PostgreSQL is not available: it did not respond in time');
    await using persistence = openPersistence({ databaseUrl: store.url });
    const placing = persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
    expect(await waitInVain(placing, late)).toBeLessThan(6_000);
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

  test('slow pages, however many, leave connections to short reads', async ({ expect }) => {
    await using store = await openTestStore();
    const { order } = await store.persistence.orders.insertOrder(newOrder(), SERVICE_ORIGIN);
    // The table's owner is not subject to the policy.
    await store.query(
      `create role pager login password 'pager';
       grant select on all tables in schema public to pager;
       create policy slow on orders to pager using (case when current_query() like '%limit%' then pg_sleep(1) is not null else true end);
       alter table orders enable row level security`,
    );
    const url = Object.assign(new URL(store.url), { username: 'pager', password: 'pager' });
    await using persistence = openPersistence({ databaseUrl: url.href });
    await persistence.ping();
    let slowCount = 20;
    const slow = Promise.allSettled(
      Array.from({ length: slowCount }, (_, i) =>
        persistence.orders.findOrders({ filter: {}, limit: i + 1 }).finally(() => slowCount--),
      ),
    );
    await expect.poll(() => persistence.load().statementsInFlight.long).toBe(20);
    expect(await persistence.orders.findOrder(order.id)).toEqual(order);
    expect(slowCount).toBe(20);
    await slow;
  });

  test('a burst waits for the connections there are where the role may have only a few, and more are opened when it may', async ({
    expect,
  }) => {
    await using store = await openTestStore();
    const { pathname } = new URL(store.url);
    await store.query(`create role few login password 'few' connection limit 5`);
    await store.query('grant select, insert, update, delete on all tables in schema public to few');
    await store.query('grant usage on all sequences in schema public to few');
    const url = Object.assign(new URL(store.url), { username: 'few', password: 'few', pathname });
    const ids: OrderId[] = Array.from({ length: 20 }, (_, i) => orderId(BigInt(i + 1)));
    await importOrders(store, ids.map(pendingOrder));
    await store.persistence.orders.generateOrders({ count: 4_000, seed: 1, now: NOW });
    let saidCount = 0; // a mock would be cleared when a test beside this one begins
    await using persistence = openPersistence({ databaseUrl: url.href, onFewConnections: () => saidCount++ });
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
        const key = {
          id,
          name: 'test',
          kind: 'external',
          readOnly: false,
          plan: { name: 'free' },
          createdAt: NOW,
        } as const;
        await persistence.keyAdministration.createKey(key, randomBytes(32));
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
      await using persistence = openPersistence({ databaseUrl: store.url, connections: 4 });
      await store.query('begin');
      await store.query('lock table api_keys in share row exclusive mode');
      let waiting = KEYS.length;
      const marks = KEYS.map((id) =>
        waitInVain(persistence.apiKeys.markKeyUsed(id, NOW), givenUp('lock')).finally(() => {
          waiting--;
        }),
      );
      await cancelAll(persistence);
      expect(waiting).toBe(KEYS.length);
      await Promise.all(marks);
      await store.query('rollback');
    });

    test('against look-ups, too, PostgreSQL is not taken for one that hangs', async ({ expect }) => {
      await using store = await openTestStore();
      await using persistence = openPersistence({ databaseUrl: store.url });
      await store.query('begin');
      await store.query('lock table api_keys in access exclusive mode');
      const lookUps = Array.from({ length: 12 }, () =>
        expect(persistence.apiKeys.findSecret(randomBytes(32))).rejects.toThrow(StorageUnavailableError),
      );
      for (let i = 0; i < 20; i++) {
        await persistence.ping();
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      await Promise.all(lookUps);
      await store.query('rollback');
    });
  });
});
