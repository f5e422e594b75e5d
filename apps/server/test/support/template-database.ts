import { openPersistence } from '@petstore/persistence';
import { createTestDatabase, type TestDatabase } from '@petstore/testing';
import { importOrders, pendingOrder } from '../http/support/orders.ts';
import { storeKeys } from './keys.ts';

/**
 * A database with the schema of this program and with {@link KEYS}, without pets.
 *
 * @param orders how many generated orders it holds; they are generated once in a run
 */
export const createServerDatabase = ({ orders = 0 } = {}): Promise<TestDatabase> =>
  createTestDatabase({
    template: {
      name: `server_${orders}`,
      async prepare(databaseUrl) {
        await prepareServerDatabase(databaseUrl);
        if (orders === 0) return;
        await using persistence = openPersistence({ databaseUrl });
        await persistence.orders.generateOrders({ count: orders, seed: 1, now: new Date() });
      },
    },
  });

/** Gives an empty database the schema of this program, and {@link KEYS}. */
export async function prepareServerDatabase(databaseUrl: string): Promise<void> {
  await using persistence = openPersistence({ databaseUrl });
  await persistence.migrations.migrate();
  await storeKeys(persistence);
}

export const DEMO_ORDER_COUNT = 20;

/** Puts pending orders into a database, with the ids from 1 on. */
export async function importDemoOrders(databaseUrl: string): Promise<void> {
  await using persistence = openPersistence({ databaseUrl });
  await importOrders(
    persistence,
    Array.from({ length: DEMO_ORDER_COUNT }, (_, i) => pendingOrder(BigInt(i + 1))),
  );
}
