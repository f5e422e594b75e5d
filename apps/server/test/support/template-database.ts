import type { Plan } from '@petstore/domain';
import { type ApiKeyId, type ApiKeyKind, generateApiKeyId, generateApiKeyText, hashApiKeyText } from '@petstore/domain';
import { openPersistence, type Persistence } from '@petstore/persistence';
import { createTestDatabase, type TestDatabase } from '@petstore/testing';
import { importOrders, pendingOrder } from '../http/support/orders.ts';

export interface TestKey {
  readonly id: ApiKeyId;
  readonly text: string;
}

/** More than any test sends. */
export const UNLIMITED: Plan = { name: 'enterprise', limits: { perMinute: 1_000_000_000, perDay: 1_000_000_000 } };

/** Keys that every copy of the template has. */
export const KEYS = {
  /** External, without any limit that matters. */
  unlimited: repeatableKey(1),
  /** As {@link KEYS.unlimited}, for internal procedures. */
  internal: repeatableKey(2),
  /** External, on the free plan. */
  free: repeatableKey(3),
};

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
  await storeKey(persistence, KEYS.unlimited, { plan: UNLIMITED });
  await storeKey(persistence, KEYS.internal, { plan: UNLIMITED, kind: 'internal' });
  await storeKey(persistence, KEYS.free, { plan: { name: 'free' } });
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

export interface KeyFacts {
  readonly plan: Plan;
  /** @default 'external' */
  readonly kind?: ApiKeyKind;
  readonly expiresAt?: Date;
}

export async function storeKey(
  { keyAdministration }: Persistence,
  { id, text }: TestKey,
  { plan, kind = 'external', expiresAt }: KeyFacts,
): Promise<void> {
  await keyAdministration.createKey(
    { id, name: 'test', kind, plan, createdAt: new Date(), ...(expiresAt && { expiresAt }) },
    hashApiKeyText(text),
  );
}

/** The same key in every process: its random bytes are all of one value. */
function repeatableKey(byte: number): TestKey {
  const bytes = (count: number) => new Uint8Array(count).fill(byte);
  const id = generateApiKeyId(bytes);
  return { id, text: generateApiKeyText('test', id, bytes) };
}
