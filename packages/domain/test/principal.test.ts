import { describe, expect, it } from 'vitest';
import { type ApiKeyKind, generateApiKeyId, isInternal, mayChange } from '../src/index.ts';

const keyId = generateApiKeyId((count) => new Uint8Array(count));

describe('who may place, ship and complete orders', () => {
  it.each([
    ['external', false],
    ['internal', true],
  ] as const satisfies readonly (readonly [ApiKeyKind, boolean])[])('a key of kind %s: %s', (kind, isAllowed) => {
    expect(isInternal({ type: 'api-key', keyId, kind, readOnly: false, plan: { name: 'business' } })).toBe(isAllowed);
  });

  it('callers in the same process', () => {
    expect(isInternal({ type: 'in-process', name: 'a job' })).toBe(true);
  });
});

describe('who may change anything', () => {
  it.each([
    ['external', false, true],
    ['external', true, false],
    ['internal', false, true],
    ['internal', true, false],
  ] as const)('a key of kind %s, read-only %s: %s', (kind, readOnly, isAllowed) => {
    expect(mayChange({ type: 'api-key', keyId, kind, readOnly, plan: { name: 'business' } })).toBe(isAllowed);
  });

  it('callers in the same process', () => {
    expect(mayChange({ type: 'in-process', name: 'a job' })).toBe(true);
  });
});
