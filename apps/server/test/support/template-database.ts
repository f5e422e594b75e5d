import { setTimeout as sleep } from 'node:timers/promises';
import { openPersistence } from '@petstore/persistence';
import { createTestDatabase, type TestDatabase } from '@petstore/testing';
import pg from 'pg';
import { importOrders, pendingOrder } from '../http/support/orders.ts';
import { KEYS, storeKeys } from './keys.ts';

/** Databases that are as the template again. To create one costs 0.15 s of CPU time, to reset one a tenth of that. */
const spareDatabases: TestDatabase[] = [];

/**
 * A database with the schema of this program and with {@link KEYS}, without pets.
 *
 * @param orders how many generated orders it holds; they are generated once in a run
 */
export async function createServerDatabase({ orders = 0 } = {}): Promise<TestDatabase> {
  if (orders > 0) return createCopy(orders);
  const database = spareDatabases.pop() ?? (await createCopy(0));
  return {
    url: database.url,
    async [Symbol.asyncDispose]() {
      // A connection that was left open is an error, which disposing of the database reports.
      if (await resetDatabase(database.url)) spareDatabases.push(database);
      else await database[Symbol.asyncDispose]();
    },
  };
}

const createCopy = (orders: number): Promise<TestDatabase> =>
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

/** Removes what a test has added. @returns false where the database is still in use */
async function resetDatabase(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (let attempts = 0; await isInUse(client); attempts++) {
      if (attempts === 50) return false;
      await sleep(10); // connections that have just been closed
    }
    await client.query(`
      TRUNCATE orders, pets, order_events, idempotency_keys RESTART IDENTITY;
      UPDATE order_events_deleted SET through_id = 0, through_at = NULL;
      DELETE FROM api_key_secrets WHERE key_id NOT IN (${KEY_IDS});
      DELETE FROM api_keys WHERE id NOT IN (${KEY_IDS});
      UPDATE api_keys SET last_used_at = NULL`);
    return true;
  } finally {
    await client.end();
  }
}

const KEY_IDS = Object.values(KEYS).map(({ id }) => `'${id}'`);

async function isInUse(client: pg.Client): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT FROM pg_stat_activity
     WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
  return rowCount !== 0;
}

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
