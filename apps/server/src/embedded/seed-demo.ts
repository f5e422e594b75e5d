import { randomBytes } from 'node:crypto';
import { type ApiKeyStore, type Clock, hashApiKeyText, isValidAt } from '@petstore/domain';
import type { Persistence } from '@petstore/persistence';
import { type DemoKey, generateDemoKeys, planOfDemoKey, readDemoKeys, writeDemoKeys } from './demo-keys.ts';
import { createDemoOrders, DEMO_PETS } from './demo-orders.ts';

/**
 * Fills an embedded database at its first start: a key per plan and, where there are no orders yet, pets and orders.
 *
 * @returns the demo keys that open the door now, each with the plan that it has now
 */
export async function seedDemo(
  dataFolder: string,
  persistence: Persistence,
  clock: Clock,
): Promise<readonly DemoKey[]> {
  const known = readDemoKeys(dataFolder);
  const now = clock();
  if (known !== undefined) return findValidKeys(known, persistence.apiKeys, now);
  const keys = generateDemoKeys(randomBytes);
  for (const { id, plan, text } of keys) {
    const key = { id, name: `demo ${plan}`, kind: 'external', plan: planOfDemoKey(plan), createdAt: now } as const;
    await persistence.keyAdministration.createKey(key, hashApiKeyText(text));
  }
  if (!(await hasOrders(persistence))) {
    await persistence.pets.importPets(numberLines(DEMO_PETS), { skipBad: true });
    await persistence.orders.importOrders(numberLines(createDemoOrders(now)));
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
