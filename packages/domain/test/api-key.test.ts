import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ApiKey,
  type ApiKeyKind,
  generateApiKeyId,
  generateApiKeyText,
  hashApiKeyText,
  isApiKeyText,
  isInternal,
  isValidAt,
  mayChange,
} from '../src/index.ts';

const NOW = new Date('2026-06-01T00:00:00Z');
const EARLIER = new Date(NOW.getTime() - 1);
const LATER = new Date(NOW.getTime() + 1);

describe('the text of a key', () => {
  const id = generateApiKeyId(randomBytes);
  const text = generateApiKeyText('live', id, randomBytes);

  it('has the documented form, holds its id and passes its own check', () => {
    expect(text).toMatch(/^pso_live_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$/);
    expect(text.slice(9, 17)).toBe(id);
    expect(isApiKeyText(text)).toBe(true);
    expect(isApiKeyText(generateApiKeyText('demo', id, randomBytes))).toBe(true);
  });

  it('shows any single wrong character', () => {
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.constantFrom(...'0aZ9_-é'), (at, wrong) => {
        const typo = text.slice(0, at) + wrong + text.slice(at + 1);
        return typo === text || !isApiKeyText(typo);
      }),
    );
  });

  it('shows two neighbours that changed places', () => {
    for (let at = 0; at < text.length - 1; at++) {
      const swapped = text.slice(0, at) + text[at + 1] + text[at] + text.slice(at + 2);
      expect(isApiKeyText(swapped)).toBe(swapped === text);
    }
  });

  it('is stored as its SHA-256', () => {
    expect(Buffer.from(hashApiKeyText('abc')).toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });

  it('draws every character equally often', () => {
    // Bytes 248 to 255 would favour the first eight characters; they are thrown away, and more are drawn.
    const descending = (count: number) => Uint8Array.from({ length: count }, (_, i) => 255 - i);
    let draws = 0;
    const id = generateApiKeyId((count) => (draws++ === 0 ? descending(count) : new Uint8Array(count)));
    expect({ id, draws }).toEqual({ id: '00000000', draws: 2 });

    const seen = new Map<string, number>();
    for (let i = 0; i < 4_000; i++) {
      for (const character of generateApiKeyId(randomBytes)) seen.set(character, (seen.get(character) ?? 0) + 1);
    }
    const expected = (4_000 * 8) / 62;
    expect(seen.size).toBe(62);
    // Ten standard deviations: wrong once in far more runs than will ever be.
    for (const count of seen.values()) expect(Math.abs(count - expected)).toBeLessThan(10 * Math.sqrt(expected));
  });
});

describe('isValidAt', () => {
  const key: ApiKey = {
    id: generateApiKeyId(randomBytes),
    name: 'test',
    kind: 'external',
    readOnly: false,
    plan: { name: 'free' },
    createdAt: EARLIER,
  };

  it.each([
    ['a fresh key', { key }, true],
    ['a key that expires later', { key: { ...key, expiresAt: LATER } }, true],
    ['a key that expires now', { key: { ...key, expiresAt: NOW } }, false],
    ['a revoked key', { key: { ...key, revokedAt: EARLIER } }, false],
    ['a rotated secret within the overlap', { key, secretExpiresAt: LATER }, true],
    ['a rotated secret past the overlap', { key, secretExpiresAt: NOW }, false],
  ])('%s', (_, secret, valid) => expect(isValidAt(secret, NOW)).toBe(valid));
});

const principal = {
  type: 'api-key',
  keyId: generateApiKeyId((count) => new Uint8Array(count)),
  name: 'test',
  createdAt: EARLIER,
  plan: { name: 'business' },
} as const;

describe('who may place, ship and complete orders', () => {
  it.each([
    ['external', false],
    ['internal', true],
  ] as const satisfies readonly (readonly [ApiKeyKind, boolean])[])('a key of kind %s: %s', (kind, isAllowed) => {
    expect(isInternal({ ...principal, kind, readOnly: false })).toBe(isAllowed);
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
    expect(mayChange({ ...principal, kind, readOnly })).toBe(isAllowed);
  });

  it('callers in the same process', () => {
    expect(mayChange({ type: 'in-process', name: 'a job' })).toBe(true);
  });
});
