import { randomBytes } from 'node:crypto';
import { generateApiKeyId, type OrderId, orderId, SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import pg from 'pg';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { openPersistence, type Persistence } from '../src/index.ts';
import {
  ALL_FIELDS,
  collect,
  importOrders,
  NOBODY,
  NOW,
  newOrder,
  pendingOrder,
  statementsIn,
  useTestStore,
} from './support.ts';

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

describe('while somebody else has all orders locked', () => {
  const READS: Record<string, (orders: Persistence['orders']) => Promise<unknown>> = {
    'a page': (orders) => orders.findOrders({ filter: {}, limit: 1 }),
    'a list': (orders) => collect(orders.listOrders()),
    'a list in a format': (orders) => collect(orders.listOrders().as(ALL_FIELDS)),
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

test('statements pass one that waits, by the connections that owe less', async () => {
  await importOrders(
    store,
    Array.from({ length: 20 }, (_, i) => pendingOrder(BigInt(i + 1))),
  );
  await using persistence = openPersistence({ databaseUrl: store.url, writeConnections: 2 });
  const { orders, apiKeys, keyAdministration } = persistence;
  const id = generateApiKeyId(randomBytes);
  const key = { id, name: 'test', kind: 'external', plan: { name: 'free' }, createdAt: NOW } as const;
  await keyAdministration.createKey(key, randomBytes(32));
  await Promise.all([apiKeys.markKeyUsed(NOBODY, NOW), apiKeys.markKeyUsed(NOBODY, NOW)]); // both are open
  await store.query('begin');
  await store.query('select from api_keys where id = $1 for update', [id]);
  let isWaiting = true;
  const waiting = waitInVain(apiKeys.markKeyUsed(id, NOW), givenUp('lock')).finally(() => {
    isWaiting = false;
  });
  for (let i = 1n; i <= 20n; i++) await orders.applyCommand(orderId(i), 'cancel', NOW, SERVICE_ORIGIN);
  expect(isWaiting).toBe(true);
  await waiting;
  await store.query('rollback');
});
