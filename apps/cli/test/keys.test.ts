import { setTimeout as sleep } from 'node:timers/promises';
import { hashApiKeyText, isApiKeyText, isValidAt } from '@petstore/domain';
import { createTestRedis } from '@petstore/testing';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { expectKey, openFarServer, useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();

const create = async (...args: string[]) => expectKey(await commandLine.json(['keys', 'create', ...args]));
const show = (id: string) => commandLine.json(['keys', 'show', id]);
const secretOf = (text: string) => commandLine.persistence.apiKeys.findSecret(hashApiKeyText(text));

const DAY_MS = 86_400_000;

describe('keys create', () => {
  test('creates a key that is valid', async () => {
    const created = await create('--plan', 'pro');
    expect(created).toEqual({
      id: expect.stringMatching(/^[0-9A-Za-z]{8}$/),
      key: expect.stringMatching(new RegExp(`^pso_live_${created.id}_`)),
      plan: 'pro',
      perMinute: 300,
      perDay: 10_000,
      kind: 'external',
      readOnly: false,
      name: '',
      expiresAt: null,
    });
    expect(isApiKeyText(created.key)).toBe(true);
    const secret = await secretOf(created.key);
    expect(secret && isValidAt(secret, new Date())).toBe(true);
  });

  test('takes a name, a kind, an expiry and limits', async () => {
    const created = await create(
      ...['--plan', 'enterprise', '--per-minute', '7', '--per-day', '1000000000'],
      ...['--name', 'Über "uns"', '--internal', '--expires', '90d'],
    );
    expect(created).toMatchObject({
      plan: 'enterprise',
      perMinute: 7,
      perDay: 1_000_000_000,
      kind: 'internal',
      name: 'Über "uns"',
    });
    const remainingMs = Date.parse(created.expiresAt ?? '') - Date.now();
    expect(remainingMs).toBeGreaterThan(90 * DAY_MS - 60_000);
    expect(remainingMs).toBeLessThanOrEqual(90 * DAY_MS);
    expect(await create('--plan', 'free', '--expires', '2099-12-31T23:00:00+01:00')).toMatchObject({
      expiresAt: '2099-12-31T22:00:00.000Z',
    });
  });
});

test('keys create shows a person the key alone on standard output', async () => {
  const { code, stdout, stderr } = await commandLine.run(['keys', 'create', '--plan', 'free']);
  expect(code).toBe(0);
  expect(isApiKeyText(stdout.trimEnd())).toBe(true);
  expect(stderr).toBe('Store this key now. It will not be shown again.\n');
});

test('keys list and show print everything but the text of the key', async () => {
  const { id, key } = await create('--plan', 'business', '--name', 'listed');
  const row = {
    id,
    plan: 'business',
    perMinute: 1_000,
    perDay: 100_000,
    kind: 'external',
    readOnly: false,
    name: 'listed',
    createdAt: expect.any(String),
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
  };
  expect(await show(id)).toEqual(row);
  expect(await commandLine.json(['keys', 'list'])).toHaveProperty('0', row); // the newest
  for (const args of [
    ['keys', 'list'],
    ['keys', 'show', id],
    ['keys', 'list', '--json'],
  ]) {
    const { stdout, stderr } = await commandLine.run(args);
    expect(stdout).toContain(id);
    expect(stdout + stderr).not.toContain(key.slice(18));
  }
});

test('keys list --expiring finds the keys that end by then, and neither those that have ended nor the others', async () => {
  const [soon, later, revoked] = await Promise.all(
    ['29d', '31d', '1d'].map((when) => create('--plan', 'free', '--expires', when)),
  );
  await create('--plan', 'free');
  const ended = await create('--plan', 'free', '--expires', '1s');
  await commandLine.json(['keys', 'revoke', revoked?.id ?? '']);
  await sleep(1_000);
  const expiring = async (when: string) => {
    const rows = (await commandLine.json(['keys', 'list', '--expiring', when])) as readonly { readonly id: string }[];
    return rows.map(({ id }) => id);
  };
  expect(await expiring('30d')).toEqual([soon?.id]);
  expect((await expiring('2999-01-01T00:00:00Z')).slice(0, 2)).toEqual(expect.arrayContaining([soon?.id, later?.id]));
  expect(await expiring('2999-01-01T00:00:00Z')).not.toContain(ended.id);
  expect((await commandLine.run(['keys', 'list', '--expiring', '1m'])).stderr).toBe('No key expires by then.\n');
});

test('a read-only key is told as such, and stays read-only when it is rotated or has another plan', async () => {
  const created = await create('--plan', 'pro', '--internal', '--read-only');
  expect(created).toMatchObject({ kind: 'internal', readOnly: true });
  const rotated = expectKey(await commandLine.json(['keys', 'rotate', created.id]));
  expect(rotated).toMatchObject({ id: created.id, readOnly: true });
  await commandLine.json(['keys', 'set-plan', created.id, '--plan', 'free']);
  for (const { key } of [created, rotated]) expect((await secretOf(key))?.key.readOnly).toBe(true);
  expect(await show(created.id)).toMatchObject({ plan: 'free', readOnly: true });
  expect(await commandLine.json(['keys', 'list'])).toHaveProperty('0.readOnly', true);
});

describe('keys rotate', () => {
  test('gives a new text, and lets the old one live for the overlap', async () => {
    const first = await create('--plan', 'pro', '--name', 'rotated');
    const second = expectKey(await commandLine.json(['keys', 'rotate', first.id, '--overlap', '15m']));
    expect(second).toEqual({ ...first, key: expect.any(String) });
    expect(second.key).not.toBe(first.key);
    const now = new Date();
    const later = new Date(now.getTime() + 15 * 60_000);
    const [old, fresh] = [await secretOf(first.key), await secretOf(second.key)];
    expect([old, fresh].map((secret) => secret && isValidAt(secret, now))).toEqual([true, true]);
    expect([old, fresh].map((secret) => secret && isValidAt(secret, later))).toEqual([false, true]);
  });

  test('ends the old key after 24 hours by default, or at once', async () => {
    const { id, key } = await create('--plan', 'free');
    await commandLine.json(['keys', 'rotate', id]);
    const endsAtMs = (await secretOf(key))?.secretExpiresAt?.getTime() ?? 0;
    expect(Math.abs(endsAtMs - Date.now() - DAY_MS)).toBeLessThan(60_000);
    await commandLine.json(['keys', 'rotate', id, '--overlap', '0s']);
    const secret = await secretOf(key);
    expect(secret && isValidAt(secret, new Date())).toBe(false);
  });
});

test('keys revoke ends a key for good', async () => {
  const { id, key } = await create('--plan', 'free');
  const revoked = await commandLine.json(['keys', 'revoke', id]);
  expect(revoked).toMatchObject({ id, revokedAt: expect.any(String) });
  expect(await commandLine.json(['keys', 'revoke', id])).toEqual(revoked);
  const secret = await secretOf(key);
  expect(secret && isValidAt(secret, new Date())).toBe(false);
  const { code, stdout, stderr } = await commandLine.run(['keys', 'rotate', id, '--json']);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toBe(`petstore: key ${id} is revoked; create another with "petstore keys create"\n`);
});

test('keys set-plan changes the plan and with it the limits', async () => {
  const { id } = await create('--plan', 'free');
  const args = ['keys', 'set-plan', id, '--plan', 'enterprise', '--per-minute', '5', '--per-day', '6'];
  expect(await commandLine.json(args)).toMatchObject({ id, plan: 'enterprise', perMinute: 5, perDay: 6 });
  const pro = { plan: 'pro', perMinute: 300, perDay: 10_000 };
  expect(await commandLine.json(['keys', 'set-plan', id, '--plan', 'pro'])).toMatchObject(pro);
  expect(await show(id)).toMatchObject(pro);
});

describe('the running servers', () => {
  test.each([0, 60])('are notified of each change over Redis, also if it is far away: %i ms', async (delayMs) => {
    await using redis = await createTestRedis();
    await using far = await openFarServer(redis.url, { delayMs });
    const environment = { REDIS_URL: far.url, REDIS_PREFIX: 'shop:' };
    const notified: string[] = [];
    const subscriber = new Redis(redis.url);
    await subscriber.subscribe('shop:petstore:api-key-changed');
    subscriber.on('message', (_channel, id) => notified.push(id));
    try {
      const { id } = await create('--plan', 'free');
      for (const args of [
        ['rotate', id],
        ['set-plan', id, '--plan', 'pro'],
        ['revoke', id],
      ]) {
        await commandLine.json(['keys', ...args], { environment });
      }
      await expect.poll(() => notified.filter((one) => one === id), { timeout: 20_000 }).toHaveLength(3);
    } finally {
      subscriber.disconnect();
    }
  });

  test('need not be there: an unreachable Redis is reported, and the change holds', async () => {
    const { id } = await create('--plan', 'free');
    const { code, stderr } = await commandLine.run(['keys', 'revoke', id, '--json'], {
      environment: { REDIS_URL: 'redis://127.0.0.1:1' },
    });
    expect(code).toBe(0);
    expect(stderr).toContain('within 5 s');
    expect(await show(id)).toMatchObject({ revokedAt: expect.any(String) });
  });
});
