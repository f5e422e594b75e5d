import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ApiKeyId,
  type ApiKeyKind,
  generateApiKeyId,
  generateApiKeyText,
  hashApiKeyText,
  type Order,
  type OrderCommand,
  orderId,
  type PendingOrder,
  type Pet,
  type Plan,
  petId,
  type RandomBytes,
  SERVICE_ORIGIN,
} from '@petstore/domain';
import { openPersistence, type Persistence } from '@petstore/persistence';
import { createTestDatabase, PATIENCE_MS, type TestDatabase } from '@petstore/testing';
import pg from 'pg';

export interface TestKey {
  readonly id: ApiKeyId;
  readonly text: string;
}

interface KeyFacts {
  readonly plan: Plan;
  readonly kind: ApiKeyKind;
  readonly readOnly: boolean;
  readonly expiresAt?: Date;
}

/** More than any test sends. */
const UNLIMITED: Plan = { name: 'enterprise', limits: { perMinute: 1_000_000_000, perDay: 1_000_000_000 } };

/** The limits of a key that allows few requests in a minute. */
export const planOf = (perMinute: number, perDay = 1_000_000): Plan => ({
  name: 'enterprise',
  limits: { perMinute, perDay },
});

/** Keys of every test database: the same in each process, because their random bytes are all of one value. */
export const KEYS = {
  /** External, without any limit that matters. */
  unlimited: generateKey((count) => new Uint8Array(count).fill(1)),
  /** As {@link KEYS.unlimited}, for internal procedures. */
  internal: generateKey((count) => new Uint8Array(count).fill(2)),
  /** External, on the free plan. */
  free: generateKey((count) => new Uint8Array(count).fill(3)),
};

/** Stores {@link KEYS} in a database that has none. */
async function storeKeys(persistence: Persistence): Promise<void> {
  await storeKey(persistence, KEYS.unlimited);
  await storeKey(persistence, KEYS.internal, { kind: 'internal' });
  await storeKey(persistence, KEYS.free, { plan: { name: 'free' } });
}

/** Makes a key: an external one without any limit that matters, unless the facts say otherwise. */
export async function createKey(persistence: Persistence, facts?: Partial<KeyFacts>): Promise<TestKey> {
  const key = generateKey(randomBytes);
  await storeKey(persistence, key, facts);
  return key;
}

/** @returns the key with a new secret; its former ones are valid until then */
export async function rotateKey({ keyAdministration }: Persistence, id: ApiKeyId, overlapEndsAt: Date) {
  const text = generateApiKeyText('demo', id, randomBytes);
  const rotated = await keyAdministration.rotateKey(id, {
    secretHash: hashApiKeyText(text),
    now: new Date(),
    overlapEndsAt,
  });
  if (!rotated.ok) throw new Error(rotated.reason);
  return { key: rotated.value, text };
}

/** A key that does not exist, in the right form and with a right checksum. */
export const forgedKey = () => generateApiKeyText('live', generateApiKeyId(randomBytes), randomBytes);

function generateKey(bytes: RandomBytes): TestKey {
  const id = generateApiKeyId(bytes);
  return { id, text: generateApiKeyText('demo', id, bytes) };
}

async function storeKey(
  { keyAdministration }: Persistence,
  { id, text }: TestKey,
  { plan = UNLIMITED, kind = 'external', readOnly = false, expiresAt }: Partial<KeyFacts> = {},
): Promise<void> {
  await keyAdministration.createKey(
    { id, name: 'test', kind, readOnly, plan, createdAt: new Date(), ...(expiresAt && { expiresAt }) },
    hashApiKeyText(text),
  );
}

interface ResettableDatabase extends TestDatabase {
  /** Stays connected, because a new connection costs more than what it does. */
  readonly administrator: pg.Pool;
}

/** Databases that are as the template again. To create one costs 0.15 s of CPU time, to reset one a thirtieth of that. */
const spareDatabases: ResettableDatabase[] = [];

/**
 * A database with the schema of this program and with {@link KEYS}, without pets.
 *
 * @param orders how many generated orders it holds; they are generated once in a run
 */
export async function createServerDatabase({ orders = 0 } = {}): Promise<TestDatabase> {
  if (orders > 0) return createCopy(orders);
  const database = spareDatabases.pop() ?? (await createResettable());
  return {
    url: database.url,
    async [Symbol.asyncDispose]() {
      // A connection that was left open is an error, which disposing of the database reports.
      if (await resetDatabase(database)) spareDatabases.push(database);
      else await database[Symbol.asyncDispose]();
    },
  };
}

async function createResettable(): Promise<ResettableDatabase> {
  const { url, [Symbol.asyncDispose]: dispose } = await createCopy(0);
  const administrator = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true });
  administrator.on('error', () => {}); // the next query opens another
  return {
    url,
    administrator,
    async [Symbol.asyncDispose]() {
      await administrator.end();
      await dispose();
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
        await using persistence = openPersistence({ databaseUrl, patienceMs: PATIENCE_MS });
        await persistence.orders.generateOrders({ count: orders, seed: 1, now: new Date() });
      },
    },
  });

/** Removes what a test has added. @returns false where the database is still in use */
async function resetDatabase({ administrator }: ResettableDatabase): Promise<boolean> {
  for (let attempts = 0; await isInUse(administrator); attempts++) {
    if (attempts === 50) return false;
    await sleep(10); // connections that have just been closed
  }
  await administrator.query(`
    TRUNCATE orders, pets, order_events, idempotency_keys RESTART IDENTITY;
    UPDATE order_events_deleted SET through_id = 0, through_at = NULL;
    DELETE FROM api_key_secrets WHERE key_id NOT IN (${KEY_IDS});
    DELETE FROM api_keys WHERE id NOT IN (${KEY_IDS});
    UPDATE api_keys SET last_used_at = NULL`);
  return true;
}

const KEY_IDS = Object.values(KEYS).map(({ id }) => `'${id}'`);

async function isInUse(client: pg.Pool): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT FROM pg_stat_activity
     WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
  return rowCount !== 0;
}

/** Gives an empty database the schema of this program, and {@link KEYS}. */
export async function prepareServerDatabase(databaseUrl: string): Promise<void> {
  await using persistence = openPersistence({ databaseUrl, patienceMs: PATIENCE_MS });
  await persistence.migrations.migrate();
  await storeKeys(persistence);
}

export const DEMO_ORDER_COUNT = 20;

/** Puts pending orders into a database, with the ids from 1 on. */
export async function importDemoOrders(databaseUrl: string): Promise<void> {
  await using persistence = openPersistence({ databaseUrl, patienceMs: PATIENCE_MS });
  await importOrders(
    persistence,
    Array.from({ length: DEMO_ORDER_COUNT }, (_, i) => pendingOrder(BigInt(i + 1))),
  );
}

const PLACED_AT = new Date('2026-03-04T05:06:07.089Z');

export const pendingOrder = (id: bigint, facts: Partial<PendingOrder> = {}): PendingOrder => ({
  id: orderId(id),
  petId: petId(7n),
  quantity: 2,
  placedAt: PLACED_AT,
  status: 'pending',
  complete: false,
  ...facts,
});

async function* numbered<Value>(values: readonly Value[]) {
  let line = 1;
  for (const value of values) yield { line: line++, value };
}

export async function importOrders({ orders }: Persistence, values: readonly Order[]): Promise<void> {
  const { insertedCount } = await orders.importOrders(numbered(values));
  if (insertedCount !== values.length) throw new Error('the orders of a test must be importable');
}

interface PetFacts {
  readonly id: bigint;
  readonly name: string;
}

export async function importPets({ pets }: Persistence, values: readonly PetFacts[]): Promise<void> {
  const records = values.map(({ id, name }): Pet => ({ id: petId(id), name }));
  const { insertedCount } = await pets.importPets(numbered(records));
  if (insertedCount !== values.length) throw new Error('the pets of a test must be importable');
}

/** Places a pending order, and applies commands to it. */
export async function placeOrder({ orders }: Persistence, ...commands: OrderCommand[]): Promise<Order> {
  const { order } = await orders.insertOrder(
    {
      petId: petId(7n),
      quantity: 1,
      placedAt: PLACED_AT,
      status: 'pending',
      complete: false,
    },
    SERVICE_ORIGIN,
  );
  for (const command of commands) await orders.applyCommand(order.id, command, PLACED_AT, SERVICE_ORIGIN);
  return order;
}
