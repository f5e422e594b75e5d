import { randomBytes } from 'node:crypto';
import { type ApiKeyId, type ApiKeyStore, type Clock, hashApiKeyText, isValidAt } from '@petstore/domain';
import type { Persistence } from '@petstore/persistence';
import { type DemoKey, generateDemoKeys, planOfDemoKey, readDemoKeys, writeDemoKeys } from './demo-keys.ts';
import { createDemoOrders, DEMO_PETS } from './demo-orders.ts';

export interface SeedOptions {
  readonly dataFolder: string;
  readonly clock: Clock;
  /** Whether only this machine can call the server. Their texts lie in a file, so demo keys are for no other. */
  readonly isLoopback: boolean;
}

export interface SeededDemo {
  /** The demo keys that open the door now, each with the plan that it has now. */
  readonly keys: readonly DemoKey[];
  /** Those that do so no longer, because others can reach the server from now on. */
  readonly revoked: readonly ApiKeyId[];
}

/**
 * Fills an embedded database at its first start: pets and orders, where there are no orders yet. Sees to it that there
 * are demo keys, one per plan, where the server may have them, and none elsewhere.
 */
export async function seedDemo(
  persistence: Persistence,
  { dataFolder, clock, isLoopback }: SeedOptions,
): Promise<SeededDemo> {
  const known = readDemoKeys(dataFolder);
  const now = clock();
  if (isLoopback && known !== undefined && known.length > 0) {
    return { keys: await findValidKeys(known, persistence.apiKeys, now), revoked: [] };
  }
  if (known === undefined && !(await hasOrders(persistence))) {
    await persistence.pets.importPets(numberLines(DEMO_PETS), { skipBad: true });
    await persistence.orders.importOrders(numberLines(createDemoOrders(now)));
  }
  if (isLoopback) return { keys: await createDemoKeys(dataFolder, persistence, now), revoked: [] };
  for (const { id } of known ?? []) await persistence.keyAdministration.revokeKey(id, now);
  writeDemoKeys(dataFolder, []);
  return { keys: [], revoked: (known ?? []).map(({ id }) => id) };
}

async function createDemoKeys(dataFolder: string, { keyAdministration }: Persistence, now: Date) {
  const keys = generateDemoKeys(randomBytes);
  for (const { id, plan, text } of keys) {
    const key = { id, name: `demo ${plan}`, kind: 'external', plan: planOfDemoKey(plan), createdAt: now } as const;
    await keyAdministration.createKey(key, hashApiKeyText(text));
  }
  writeDemoKeys(dataFolder, keys);
  return keys.map(({ plan, text }) => ({ plan: planOfDemoKey(plan), text }));
}

/** Demo keys may be given another plan, rotated and revoked as any other. Looked up without the ORM, as requests are. */
async function findValidKeys(
  known: readonly { readonly text: string }[],
  apiKeys: ApiKeyStore,
  now: Date,
): Promise<readonly DemoKey[]> {
  const secrets = await Promise.all(known.map(({ text }) => apiKeys.findSecret(hashApiKeyText(text))));
  return known.flatMap(({ text }, index) => {
    const secret = secrets[index];
    return secret !== undefined && isValidAt(secret, now) ? [{ plan: secret.key.plan, text }] : [];
  });
}

/** Somebody may have imported orders before the first start of a server. */
async function hasOrders({ orders }: Persistence): Promise<boolean> {
  for await (const batch of orders.listOrders()) {
    if (batch.length > 0) return true;
  }
  return false;
}

async function* numberLines<Value>(values: readonly Value[]) {
  for (const [index, value] of values.entries()) yield { line: index + 1, value };
}
