import { LISTED_FIELDS, type Order, orderId, SERVICE_ORIGIN, StorageUnavailableError } from '@petstore/domain';
import { createTestDatabase, startPgBouncer } from '@petstore/testing';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { openPersistence } from '../../src/index.ts';
import {
  cancelledOrder,
  collect,
  completedOrder,
  NOW,
  newOrder,
  numbered,
  pendingOrder,
  runSql,
  shippedOrder,
  textsOf,
  UNKNOWN_KEY_ID,
  WAYS,
  type Way,
} from '../support.ts';

/** More than the first batch of a list holds, so that another statement gets the rest. */
const ORDERS: readonly Order[] = Array.from({ length: 400 }, (_, i) => {
  const id = BigInt(i + 1);
  const make = [pendingOrder, shippedOrder, completedOrder, cancelledOrder][i % 4] ?? pendingOrder;
  return { ...make(id), shipDate: new Date(+NOW + i * 86_400_000) };
});

describe('behind a pooler in session mode', () => {
  test.each([
    ['as it is', {}],
    ['that drops the options of a connection', { ignore_startup_parameters: 'options' }],
  ])('%s everything works, whatever the database is set to', async (_, config) => {
    await using database = await createTestDatabase();
    const name = new URL(database.url).pathname.slice(1);
    for (const setting of [`timezone to 'Asia/Kolkata'`, `datestyle to 'German'`, `jit to on`]) {
      await runSql(database.url, `alter database ${name} set ${setting}`);
    }
    await using pooler = await startPgBouncer(database.url, { poolMode: 'session', config });
    await using persistence = openPersistence({ databaseUrl: pooler.url });
    await persistence.migrations.migrate();
    const { orders } = persistence;
    expect(await orders.importOrders(numbered(ORDERS))).toMatchObject({ insertedCount: ORDERS.length });

    expect((await collect(orders.listOrders())).flatMap((batch) => batch.orders)).toEqual(ORDERS);
    expect((await collect(orders.listOrderTexts(LISTED_FIELDS))).flatMap((batch) => [...batch.orders])).toEqual(
      textsOf(ORDERS),
    );
    expect((await orders.findOrders({ filter: { statuses: ['shipped'] }, limit: 5 })).items).toEqual(
      ORDERS.filter(({ status }) => status === 'shipped').slice(0, 5),
    );
    const cancelled = await Promise.all(
      ORDERS.map(({ id }) => orders.applyCommand(id, 'cancel', NOW, SERVICE_ORIGIN).then(({ applied }) => applied)),
    );
    expect(cancelled).toEqual(ORDERS.map(({ status }) => status === 'pending'));
    expect(await orders.findOrder(orderId(1n))).toEqual({ ...ORDERS[0], status: 'cancelled', cancelledAt: NOW });
    const { order: placed } = await orders.insertOrder(newOrder({ shipDate: NOW }), SERVICE_ORIGIN);
    expect(await orders.findOrder(placed.id)).toEqual(placed);
    expect(await persistence.keyAdministration.findKey(UNKNOWN_KEY_ID)).toBeUndefined();
  });
});

describe.each([
  ['in transaction mode', { poolMode: 'transaction' }],
  ['in transaction mode, sessions in turn', { poolMode: 'transaction', config: { server_round_robin: 1 } }],
  ['in statement mode', { poolMode: 'statement' }],
] as const)('behind a pooler %s', (_, options) => {
  test('nothing works, and the error says why, also while others use it', async () => {
    await using database = await createTestDatabase();
    await using pooler = await startPgBouncer(database.url, options);
    await using others = useAll(pooler.url, 3);
    for (let start = 0; start < 2; start++) {
      await using persistence = openPersistence({ databaseUrl: pooler.url });
      for (const way of Object.values<Way>(WAYS)) {
        const outcome = way(persistence);
        await expect(outcome).rejects.toThrow(StorageUnavailableError);
        await expect(outcome).rejects.toThrow('pooler in transaction mode is in between');
      }
    }
    others.stop();
  });
});

/** Clients of another program, each of which sends statements in a loop. */
function useAll(url: string, count: number): { stop(): void } & AsyncDisposable {
  let isStopped = false;
  const clients = Array.from({ length: count }, async () => {
    const client = new pg.Client(url);
    await client.connect();
    while (!isStopped) await client.query('select pg_sleep(0.01)');
    await client.end();
  });
  const stop = () => {
    isStopped = true;
  };
  return {
    stop,
    async [Symbol.asyncDispose]() {
      stop();
      await Promise.all(clients);
    },
  };
}
