import { randomBytes } from 'node:crypto';
import {
  type ApiKeyId,
  generateApiKeyId,
  generateApiKeyText,
  hashApiKeyText,
  isValidAt,
  LIMIT_MAX,
  type Plan,
} from '@petstore/domain';
import { describe, expect, test } from 'vitest';
import type { NewApiKey } from '../src/keys/key-administration.ts';
import { NOW, UNKNOWN_KEY_ID, useTestStore } from './support.ts';

const store = useTestStore();

const HOUR_MS = 3_600_000;
const after = (ms: number) => new Date(NOW.getTime() + ms);
const newSecret = (id: ApiKeyId) => hashApiKeyText(generateApiKeyText('live', id, randomBytes));

async function createKey(facts: Partial<NewApiKey> = {}) {
  const id = generateApiKeyId(randomBytes);
  const secret = newSecret(id);
  const request: NewApiKey = {
    id,
    name: 'a key',
    kind: 'external',
    readOnly: false,
    plan: { name: 'free' },
    createdAt: NOW,
    ...facts,
  };
  const key = await store.persistence.keyAdministration.createKey(request, secret);
  return { id, secret, key, request };
}

const find = (secret: Uint8Array) => store.persistence.apiKeys.findSecret(secret);

const ENTERPRISE: Plan = { name: 'enterprise', limits: { perMinute: 1, perDay: LIMIT_MAX } };

describe('a key', () => {
  test.each<Partial<NewApiKey>>([
    {},
    { name: 'Ünïcode " \' \\ name', kind: 'internal' },
    { plan: { name: 'pro' }, readOnly: true },
    { kind: 'internal', readOnly: true },
    { plan: ENTERPRISE, kind: 'internal' },
    { expiresAt: after(HOUR_MS) },
  ])('is found by its secret as it was made: %j', async (wanted) => {
    const { id, secret, key, request } = await createKey(wanted);
    expect(key).toEqual(request);
    expect(await find(secret)).toEqual({ key: request });
    expect(await find(newSecret(id))).toBeUndefined();
    expect(await store.persistence.keyAdministration.findKey(id)).toEqual(request);
  });

  test('is listed, the newest first', async () => {
    const older = await createKey({ createdAt: after(1_000) });
    const newer = await createKey({ createdAt: after(2_000) });
    const listed = await store.persistence.keyAdministration.listKeys();
    expect(listed.slice(0, 2)).toEqual([newer.key, older.key]);
  });

  test('never has the id of another', async () => {
    const { request, id } = await createKey();
    await expect(store.persistence.keyAdministration.createKey(request, newSecret(id))).rejects.toThrow(
      'api_keys_pkey',
    );
  });
});

test('revoking holds for every secret of the key, for good', async () => {
  const { id, secret } = await createKey();
  const { keyAdministration } = store.persistence;
  expect(await keyAdministration.revokeKey(id, after(1))).toMatchObject({ id, revokedAt: after(1) });
  expect(await keyAdministration.revokeKey(id, after(2))).toMatchObject({ id, revokedAt: after(1) });
  expect(await find(secret)).toMatchObject({ key: { id, revokedAt: after(1) } });
});

test('a change of plan brings the new limits, and takes the old ones away', async () => {
  const { id, secret } = await createKey({ plan: ENTERPRISE });
  const { keyAdministration } = store.persistence;
  for (const plan of [{ name: 'pro' }, ENTERPRISE] as const) {
    expect(await keyAdministration.setPlan(id, plan, NOW)).toMatchObject({ plan });
    expect((await find(secret))?.key.plan).toEqual(plan);
  }
});

test('of a key that does not exist nothing is changed', async () => {
  const { keyAdministration } = store.persistence;
  expect(await keyAdministration.setPlan(UNKNOWN_KEY_ID, { name: 'pro' }, NOW)).toBeUndefined();
  expect(await keyAdministration.revokeKey(UNKNOWN_KEY_ID, NOW)).toBeUndefined();
});

describe('rotating', () => {
  const rotate = (id: ApiKeyId, secretHash: Uint8Array, now: Date, overlapEndsAt: Date) =>
    store.persistence.keyAdministration.rotateKey(id, { secretHash, now, overlapEndsAt });

  test('keeps both secrets valid for the overlap, under one id', async () => {
    const { id, secret: old, key } = await createKey();
    const fresh = newSecret(id);
    expect(await rotate(id, fresh, after(10), after(HOUR_MS))).toEqual({ ok: true, value: key });
    const [oldOne, freshOne] = [await find(old), await find(fresh)];
    expect(oldOne).toEqual({ key, secretExpiresAt: after(HOUR_MS) });
    expect(freshOne).toEqual({ key });
    const valid = (ms: number) => [oldOne, freshOne].map((secret) => secret && isValidAt(secret, after(ms)));
    expect(valid(HOUR_MS - 1)).toEqual([true, true]);
    expect(valid(HOUR_MS)).toEqual([false, true]);
  });

  test('again never makes an earlier secret live longer', async () => {
    const { id, secret: first } = await createKey();
    const second = newSecret(id);
    const third = newSecret(id);
    await rotate(id, second, after(0), after(HOUR_MS));
    await rotate(id, third, after(1), after(2 * HOUR_MS));
    expect(await find(first)).toMatchObject({ secretExpiresAt: after(HOUR_MS) });
    expect(await find(second)).toMatchObject({ secretExpiresAt: after(2 * HOUR_MS) });
    await rotate(id, newSecret(id), after(2), after(2));
    expect(await find(first)).toMatchObject({ secretExpiresAt: after(2) });
    expect(await find(third)).toMatchObject({ secretExpiresAt: after(2) });
  });

  test('clears away secrets that have ended', async () => {
    const { id, secret } = await createKey();
    await rotate(id, newSecret(id), after(0), after(10));
    await rotate(id, newSecret(id), after(11), after(HOUR_MS));
    expect(await find(secret)).toBeUndefined();
  });

  test('at once from many sides leaves one secret without an end', async () => {
    const { id } = await createKey();
    const secrets = Array.from({ length: 10 }, () => newSecret(id));
    await Promise.all(secrets.map((secret, i) => rotate(id, secret, after(i), after(HOUR_MS))));
    const found = await Promise.all(secrets.map(find));
    expect(found.filter((secret) => secret?.secretExpiresAt === undefined)).toHaveLength(1);
  });

  test('is refused for keys that are revoked, expired or not there', async () => {
    const revoked = await createKey();
    await store.persistence.keyAdministration.revokeKey(revoked.id, NOW);
    const expired = await createKey({ expiresAt: after(5) });
    const cases = [
      [revoked.id, 'key_revoked'],
      [expired.id, 'key_expired'],
      [UNKNOWN_KEY_ID, 'key_not_found'],
    ] as const;
    for (const [id, refusal] of cases) {
      const secret = newSecret(id);
      expect(await rotate(id, secret, after(5), after(HOUR_MS))).toEqual({ ok: false, reason: refusal });
      expect(await find(secret)).toBeUndefined();
    }
  });
});

test('the last use is written at most once a minute, for all reports of it', async () => {
  const { id, secret } = await createKey();
  const { apiKeys } = store.persistence;
  const lastUsedAfter = async (ms: number) => {
    await apiKeys.markKeyUsed(id, after(ms));
    return (await find(secret))?.key.lastUsedAt;
  };
  expect((await find(secret))?.key.lastUsedAt).toBeUndefined();
  expect(await lastUsedAfter(0)).toEqual(after(0));
  expect(await lastUsedAfter(59_999)).toEqual(after(0));
  expect(await lastUsedAfter(60_000)).toEqual(after(60_000));
  expect(await lastUsedAfter(30_000)).toEqual(after(60_000));
});
