import {
  type ApiKey,
  type ApiKeyKind,
  type ApiKeyStore,
  generateApiKeyId,
  generateApiKeyText,
  hashApiKeyText,
  LIMIT_MAX,
  LIMIT_MIN,
  type Plan,
} from '@petstore/domain';
import type { TestServiceOptions } from './test-service-types.ts';

/** @throws RangeError for limits that no key has */
export function planOf(plan: TestServiceOptions['plan']): Plan {
  if (typeof plan === 'string') return { name: plan };
  const limits = plan ?? { perMinute: LIMIT_MAX, perDay: LIMIT_MAX };
  for (const [name, value] of Object.entries(limits)) {
    if (Number.isInteger(value) && value >= LIMIT_MIN && value <= LIMIT_MAX) continue;
    throw new RangeError(`plan.${name} must be a whole number from ${LIMIT_MIN} to ${LIMIT_MAX}, not ${value}`);
  }
  return { name: 'enterprise', limits };
}

/** An API key of each kind, the same in each service. */
export function createKeysInMemory(plan: Plan, createdAt: Date) {
  const keys = new Map<string, ApiKey>();
  const createKey = (filler: number, kind: ApiKeyKind, readOnly = false): string => {
    const bytes = (count: number) => new Uint8Array(count).fill(filler);
    const id = generateApiKeyId(bytes);
    const text = generateApiKeyText('demo', id, bytes);
    keys.set(hashText(hashApiKeyText(text)), { id, name: 'test', kind, readOnly, plan, createdAt });
    return text;
  };
  const texts = {
    apiKey: createKey(1, 'internal'),
    readOnlyKey: createKey(2, 'external', true),
    externalKey: createKey(3, 'external'),
  };
  const store: ApiKeyStore = {
    async findSecret(secretHash) {
      const key = keys.get(hashText(secretHash));
      return key && { key };
    },
    async markKeyUsed() {},
  };
  return { texts, store };
}

const hashText = (hash: Uint8Array): string => Buffer.from(hash).toString('hex');
