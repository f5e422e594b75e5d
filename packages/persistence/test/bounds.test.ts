import { randomBytes } from 'node:crypto';
import { generateApiKeyId, type OrderId, orderId, SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import pg from 'pg';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { openPersistence, type Persistence } from '../src/index.ts';
import { collect, importOrders, NOW, newOrder, pendingOrder, statementsIn, useTestStore } from './support.ts';

const store = useTestStore();
beforeEach(() => store.clear());

/** What PostgreSQL itself says when it ends a statement; a connection that is cut says something else. */
const givenUp = (kind: 'lock' | 'statement') =>
  new StorageUnavailableError(`PostgreSQL is not available: canceling statement due to ${kind} timeout`);

/** How long something waits in vain, in milliseconds. */
async function waitInVain(waiting: Promise<unknown>, error: Error): Promise<number> {
  const begin = performance.now();
  await expect(waiting).rejects.toThrow(error);
  return performance.now() - begin;
}

describe('while another session has all orders locked', () => {
  const READS: Record<string, (orders: Persistence['orders']) => Promise<unknown>> = {
    'a page': (orders) => orders.findOrders({ filter: {}, limit: 1 }),
    'a list': (orders) => collect(orders.listOrders()),
    'a list of texts': (orders) => collect(orders.listOrderTexts()),
  };

  test('reads are given up by the server after 2 s, searches and writes after 1 s', async () => {
    const { orders } = store.persistence;
    const { id } = await orders.insertOrder(newOrder(), SERVICE_ORIGIN);
    await store.query('begin');
    await store.query('lock table orders in access exclusive mode');
    try {
      const reads = Object.values(READS).map((read) => waitInVain(read(orders), givenUp('statement')));
      const others = [
        waitInVain(orders.findOrders({ filter: { complete: true }, limit: 1 }), givenUp('lock')),
        waitInVain(orders.insertOrder(newOrder(), SERVICE_ORIGIN), givenUp('lock')),
        waitInVain(orders.applyCommand(id, 'cancel', NOW, SERVICE_ORIGIN), givenUp('lock')),
      ];
      for (const waitedMs of await Promise.all(reads)) {
        expect(waitedMs).toBeGreaterThan(1_500);
        expect(waitedMs).toBeLessThan(15_000); // of slowness nothing is said here
      }
      for (const waitedMs of await Promise.all(others)) {
        expect(waitedMs).toBeGreaterThan(750);
        expect(waitedMs).toBeLessThan(10_000);
      }
    } finally {
      await store.query('rollback');
    }
    await expect(orders.applyCommand(id, 'cancel', NOW, SERVICE_ORIGIN)).resolves.toMatchObject({ applied: true });
  });
});

test('of commands at the same moment no more than 64 share a statement, which keeps their rows locked', async () => {
  const ids: OrderId[] = Array.from({ length: 200 }, (_, i) => orderId(BigInt(i + 1)));
  await importOrders(store, ids.map(pendingOrder));
  const { orders } = store.persistence;
  await orders.applyCommand(orderId(-404n), 'cancel', NOW, SERVICE_ORIGIN); // there is a connection
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  const transitions = await Promise.all(ids.map((id) => orders.applyCommand(id, 'cancel', NOW, SERVICE_ORIGIN)));
  expect(transitions.every(({ applied }) => applied)).toBe(true);
  expect(statementsIn(sent)).toHaveLength(4); // 64, 64, 64 and 8
  sent.mockRestore();
});

test('statements that come at once, before there is any connection, get one each', async () => {
  const url = new URL(store.url);
  url.searchParams.set('application_name', 'a crowd');
  await using persistence = openPersistence({ databaseUrl: url.href, keyConnections: 4 });
  await Promise.all(Array.from({ length: 4 }, () => persistence.ping()));
  const { rows } = await store.query(
    `select count(*) from pg_stat_activity where datname = current_database() and application_name = 'a crowd'`,
  );
  expect(rows).toEqual([['4']]);
});

describe('while keys are locked', () => {
  const ORDERS = Array.from({ length: 20 }, (_, i) => pendingOrder(BigInt(i + 1)));
  const KEYS = Array.from({ length: 50 }, () => generateApiKeyId(randomBytes));
  const cancelAll = async ({ orders }: Persistence) => {
    for (const { id } of ORDERS) await orders.applyCommand(id, 'cancel', NOW, SERVICE_ORIGIN);
  };

  test('one by one, marks of their use are left out', async () => {
    await importOrders(store, ORDERS);
    await using persistence = openPersistence({ databaseUrl: store.url, writeConnections: 2 });
    for (const id of KEYS) {
      const key = { id, name: 'test', kind: 'external', plan: { name: 'free' }, createdAt: NOW } as const;
      await persistence.keyAdministration.createKey(key, randomBytes(32));
    }
    await store.query('begin');
    await store.query('select from api_keys for update');
    await Promise.all(KEYS.map((id) => persistence.apiKeys.markKeyUsed(id, NOW)));
    await cancelAll(persistence);
    await store.query('rollback');
    expect((await store.query('select from api_keys where last_used_at is null')).rows).toHaveLength(KEYS.length);
  });

  test('as a whole, marks of their use share one connection, and commands pass', async () => {
    await importOrders(store, ORDERS);
    await using persistence = openPersistence({ databaseUrl: store.url, writeConnections: 2 });
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

  test('against look-ups, too, PostgreSQL is not taken for one that hangs', async () => {
    await using persistence = openPersistence({ databaseUrl: store.url });
    await store.query('begin');
    await store.query('lock table api_keys in access exclusive mode');
    const lookUps = Array.from({ length: 12 }, () =>
      expect(persistence.apiKeys.findSecret(randomBytes(32))).rejects.toThrow(StorageUnavailableError),
    );
    for (let i = 0; i < 20; i++) {
      expect(await persistence.ping()).toEqual({ isReadOnly: false });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await Promise.all(lookUps);
    await store.query('rollback');
  });
});
