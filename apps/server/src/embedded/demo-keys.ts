import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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
  readonly readOnly: boolean;
  readonly text: string;
}

/** A demo key as it was made. Unlike that of any other key, its text is kept, in a file that only its owner can read. */
interface StoredDemoKey {
  readonly id: ApiKeyId;
  readonly plan: PlanName;
  readonly readOnly: boolean;
  readonly text: string;
}

/** The limits of a demo key whose plan has none. */
const DEMO_LIMITS = { perMinute: 5_000, perDay: 1_000_000 };

export const planOfDemoKey = (name: PlanName): Plan =>
  hasFixedLimits(name) ? { name } : { name, limits: DEMO_LIMITS };

/** The file with the texts of the keys. Only its owner can read it. */
export const demoKeysFile = (dataFolder: string): string => join(dataFolder, 'demo-keys.json');

/**
 * The demo keys of a data folder as they were made; empty if the server may not have any, `undefined` until the first
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

/** Writes the file as the last, atomic step of a first start. A start that is interrupted earlier is repeated. */
export function writeDemoKeys(dataFolder: string, keys: readonly StoredDemoKey[]): void {
  const file = demoKeysFile(dataFolder);
  rmSync(`${file}.new`, { force: true }); // its mode would stay
  writeFileSync(`${file}.new`, `${JSON.stringify(keys, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Makes a new key for each plan, and a read-only one. */
export function generateDemoKeys(randomBytes: RandomBytes): readonly StoredDemoKey[] {
  const kinds = [...PLAN_NAMES.map((plan) => ({ plan, readOnly: false })), { plan: 'pro', readOnly: true } as const];
  return kinds.map(({ plan, readOnly }) => {
    const id = generateApiKeyId(randomBytes);
    return { id, plan, readOnly, text: generateApiKeyText('demo', id, randomBytes) };
  });
}
