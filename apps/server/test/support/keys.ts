import { randomBytes } from 'node:crypto';
import {
  type ApiKeyId,
  type ApiKeyKind,
  generateApiKeyId,
  generateApiKeyText,
  hashApiKeyText,
  type Plan,
  type RandomBytes,
} from '@petstore/domain';
import type { Persistence } from '@petstore/persistence';

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
export async function storeKeys(persistence: Persistence): Promise<void> {
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
