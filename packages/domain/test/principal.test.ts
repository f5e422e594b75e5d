import { describe, expect, it } from 'vitest';
import { type ApiKeyKind, generateApiKeyId, isInternal } from '../src/index.ts';

const keyId = generateApiKeyId((count) => new Uint8Array(count));

describe('who may place, ship and complete orders', () => {
  it.each([
    ['external', false],
    ['internal', true],
  ] as const satisfies readonly (readonly [ApiKeyKind, boolean])[])('a key of kind %s: %s', (kind, isAllowed) => {
    expect(isInternal({ type: 'api-key', keyId, kind, plan: { name: 'business' } })).toBe(isAllowed);
  });

  it('callers in the same process', () => {
    expect(isInternal({ type: 'in-process', name: 'a job' })).toBe(true);
  });
});
