import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ApiKeyId,
  generateApiKeyId,
  generateApiKeyText,
  hasFixedLimits,
  PLAN_NAMES,
  type Plan,
  type PlanName,
  type RandomBytes,
} from '@petstore/domain';

/** A key that may be shown to the person who started the server. */
export interface DemoKey {
  readonly plan: Plan;
  readonly text: string;
}

/** A demo key as it was made. Its text is kept, unlike any other key's, in a file that only its owner can read. */
interface StoredDemoKey {
  readonly id: ApiKeyId;
  readonly plan: PlanName;
  readonly text: string;
}

/** Those of a demo key whose plan has none. */
const DEMO_LIMITS = { perMinute: 5_000, perDay: 1_000_000 };

export const planOfDemoKey = (name: PlanName): Plan =>
  hasFixedLimits(name) ? { name } : { name, limits: DEMO_LIMITS };

/** Holds the whole keys, readable by its owner only. */
export const demoKeysFile = (dataFolder: string): string => join(dataFolder, 'demo-keys.json');

/**
 * The demo keys of a data folder as they were made, none if the server may not have them; `undefined` before the first
 * start has finished.
 */
export function readDemoKeys(dataFolder: string): readonly StoredDemoKey[] | undefined {
  try {
    return JSON.parse(readFileSync(demoKeysFile(dataFolder), 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The last step of a first start, and atomic, so that a start that was cut off is done anew. */
export function writeDemoKeys(dataFolder: string, keys: readonly StoredDemoKey[]): void {
  const file = demoKeysFile(dataFolder);
  writeFileSync(`${file}.new`, `${JSON.stringify(keys, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** A new key for each plan. */
export function generateDemoKeys(randomBytes: RandomBytes): readonly StoredDemoKey[] {
  return PLAN_NAMES.map((plan) => {
    const id = generateApiKeyId(randomBytes);
    return { id, plan, text: generateApiKeyText('test', id, randomBytes) };
  });
}
