import { randomBytes } from 'node:crypto';
import { type ApiKeyStore, type Clock, hashApiKeyText, isKnownPlan, isValidAt } from '@petstore/domain';
import type { Persistence } from '@petstore/persistence';
import type { Logger } from 'pino';
import { isLoopback } from '../operations/listen.ts';
import { type DemoKey, generateDemoKeys, planOfDemoKey, readDemoKeys, writeDemoKeys } from './demo-keys.ts';
import { createDemoOrders, DEMO_PETS } from './demo-orders.ts';

export interface SeedOptions {
  readonly dataFolder: string;
  /** The host that the server listens on. Demo keys are kept as text in a file, so they exist only on a loopback address. */
  readonly host: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Fills an embedded database at its first start: adds pets and orders if there are no orders yet. Makes a demo key for
 * each plan, and a read-only one, if the server may have them, and otherwise revokes them.
 *
 * @returns the demo keys that are valid now, each with its present plan
 */
export async function seedDemo(
  persistence: Persistence,
  { dataFolder, host, clock, logger }: SeedOptions,
): Promise<readonly DemoKey[]> {
  const known = readDemoKeys(dataFolder);
  const now = clock();
  if (isLoopback(host) && known !== undefined && known.length > 0) {
    return findValidKeys(known, persistence.apiKeys, now);
  }
  if (known === undefined && !(await hasOrders(persistence))) {
    await persistence.pets.importPets(numberLines(DEMO_PETS), { skipBad: true });
    await persistence.orders.importOrders(numberLines(createDemoOrders(now)));
  }
  if (isLoopback(host)) return createDemoKeys(dataFolder, persistence, now);
  const ids = (known ?? []).map(({ id }) => id);
  for (const id of ids) await persistence.keyAdministration.revokeKey(id, now);
  writeDemoKeys(dataFolder, []);
  if (ids.length > 0)
    logger.warn({ host, keys: ids }, 'the demo keys were revoked: HOST is reachable from other machines');
  return [];
}

async function createDemoKeys(dataFolder: string, { keyAdministration }: Persistence, now: Date) {
  const keys = generateDemoKeys(randomBytes);
  for (const { id, plan, readOnly, text } of keys) {
    const name = readOnly ? 'demo read-only' : `demo ${plan}`;
    const key = { id, name, kind: 'external', readOnly, plan: planOfDemoKey(plan), createdAt: now } as const;
    await keyAdministration.createKey(key, hashApiKeyText(text));
  }
  writeDemoKeys(dataFolder, keys);
  return keys.map(({ plan, readOnly, text }) => ({ plan: planOfDemoKey(plan), readOnly, text }));
}

/** Demo keys may change their plan, be rotated or be revoked like any other. Like requests, this look-up avoids the ORM. */
async function findValidKeys(
  known: readonly { readonly text: string }[],
  apiKeys: ApiKeyStore,
  now: Date,
): Promise<readonly DemoKey[]> {
  const secrets = await Promise.all(known.map(({ text }) => apiKeys.findSecret(hashApiKeyText(text))));
  return known.flatMap(({ text }, index) => {
    const secret = secrets[index];
    if (secret === undefined || !isValidAt(secret, now)) return [];
    const { plan, readOnly } = secret.key;
    return isKnownPlan(plan) ? [{ plan, readOnly, text }] : [];
  });
}

/** They may have been added by a first start that was interrupted. */
async function hasOrders({ orders }: Persistence): Promise<boolean> {
  const { items: found } = await orders.findOrders({ filter: {}, limit: 1 });
  return found.length > 0;
}

async function* numberLines<Value>(values: readonly Value[]) {
  for (const [index, value] of values.entries()) yield { line: index + 1, value };
}
