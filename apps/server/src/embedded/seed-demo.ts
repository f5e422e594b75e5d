import { randomBytes } from 'node:crypto';
import { type Clock, hashApiKeyText } from '@petstore/domain';
import type { Persistence } from '@petstore/persistence';
import { type DemoKey, generateDemoKeys, planOfDemoKey, readDemoKeys, writeDemoKeys } from './demo-keys.ts';
import { createDemoOrders, DEMO_PETS } from './demo-orders.ts';

/**
 * Fills an embedded database at its first start: a key per plan and, where there are no orders yet, pets and orders.
 *
 * @returns the demo keys, which are the same at every start
 */
export async function seedDemo(
  dataFolder: string,
  persistence: Persistence,
  clock: Clock,
): Promise<readonly DemoKey[]> {
  const known = readDemoKeys(dataFolder);
  if (known !== undefined) return known;
  const now = clock();
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
  return keys;
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
