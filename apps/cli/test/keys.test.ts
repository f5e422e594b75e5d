import { hashApiKeyText, isApiKeyText, isValidAt } from '@petstore/domain';
import { createTestRedis } from '@petstore/testing';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { expectKey, useTestCommandLine } from './support.ts';

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

  test('shows a person the key alone on standard output', async () => {
    const { code, stdout, stderr } = await commandLine.run(['keys', 'create', '--plan', 'free']);
    expect(code).toBe(0);
    expect(isApiKeyText(stdout.trimEnd())).toBe(true);
    expect(stderr).toBe('Store this key now. It will not be shown again.\n');
  });
});

describe('keys list and show', () => {
  test('show everything but the text of the key', async () => {
    const { id, key } = await create('--plan', 'business', '--name', 'listed');
    const row = {
      id,
      plan: 'business',
      perMinute: 1_000,
      perDay: 100_000,
      kind: 'external',
      name: 'listed',
      createdAt: expect.any(String),
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
      planUntil: null,
      planReason: null,
      lastingPlan: 'business',
      lastingPerMinute: 1_000,
      lastingPerDay: 100_000,
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

  test('never let a name control the terminal', async () => {
    const { id } = await create('--plan', 'free', '--name', 'a\u001b[31mb\nc');
    const { stdout } = await commandLine.run(['keys', 'show', id]);
    expect(stdout).not.toContain('\u001b');
    expect(stdout.trimEnd().split('\n')).toHaveLength(2);
  });
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

describe('keys revoke', () => {
  test('ends a key for good', async () => {
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
});

describe('keys set-plan', () => {
  test('changes the plan and with it the limits', async () => {
    const { id } = await create('--plan', 'free');
    const args = ['keys', 'set-plan', id, '--plan', 'enterprise', '--per-minute', '5', '--per-day', '6'];
    expect(await commandLine.json(args)).toMatchObject({ id, plan: 'enterprise', perMinute: 5, perDay: 6 });
    expect(await commandLine.json(['keys', 'set-plan', id, '--plan', 'pro'])).toMatchObject({
      plan: 'pro',
      perMinute: 300,
      perDay: 10_000,
    });
    expect(await show(id)).toMatchObject({ plan: 'pro' });
  });
});

describe('keys set-plan --until', () => {
  const setPlan = (id: string, ...args: string[]) => commandLine.json(['keys', 'set-plan', id, ...args]);
  const LASTING = { lastingPlan: 'pro', lastingPerMinute: 300, lastingPerDay: 10_000 };
  const NOT_RAISED = { plan: 'pro', perMinute: 300, perDay: 10_000, planUntil: null, planReason: null, ...LASTING };

  test('gives a temporary plan, and shows it with its end, its reason and the lasting plan', async () => {
    const { id } = await create('--plan', 'pro');
    const row = {
      id,
      plan: 'business',
      perMinute: 1_000,
      perDay: 100_000,
      planUntil: '2099-01-31T00:00:00.000Z',
      planReason: 'Black Friday: 5 × "größer"',
      ...LASTING,
    };
    const reason = ['--reason', 'Black Friday: 5 × "größer"'];
    expect(await setPlan(id, '--plan', 'business', '--until', '2099-01-31T00:00:00Z', ...reason)).toMatchObject(row);
    expect(await show(id)).toMatchObject(row);
    expect(await commandLine.json(['keys', 'list'])).toContainEqual(expect.objectContaining(row));
    const { stdout } = await commandLine.run(['keys', 'show', id]);
    for (const part of ['business', 'planUntil', '2099-01-31T00:00:00.000Z', 'größer', 'lastingPlan', 'pro']) {
      expect(stdout).toContain(part);
    }
  });

  test('takes a duration, and limits of its own', async () => {
    const { id } = await create('--plan', 'pro');
    const limits = ['--plan', 'enterprise', '--per-minute', '5000', '--per-day', '1000000000'];
    const raised = await setPlan(id, ...limits, '--until', '15m');
    expect(raised).toMatchObject({ plan: 'enterprise', perMinute: 5_000, perDay: 1_000_000_000, planReason: null });
    const { planUntil } = raised as { planUntil: string }; // a date-time, or the next line fails
    const remainingMs = Date.parse(planUntil) - Date.now();
    expect(remainingMs).toBeGreaterThan(14 * 60_000);
    expect(remainingMs).toBeLessThanOrEqual(15 * 60_000);
  });

  test('ends by itself', async () => {
    const { id } = await create('--plan', 'pro');
    await setPlan(id, '--plan', 'free', '--until', '1s', '--reason', 'a trial'); // a slow machine may show it when it is over
    await expect.poll(() => show(id), { timeout: 20_000 }).toMatchObject(NOT_RAISED);
  });

  test('replaces another one, and keeps the lasting plan', async () => {
    const { id } = await create('--plan', 'pro');
    await setPlan(id, '--plan', 'business', '--until', '1h', '--reason', 'a sale');
    expect(await setPlan(id, '--plan', 'free', '--until', '2099-01-31T00:00:00+01:00')).toMatchObject({
      plan: 'free',
      planUntil: '2099-01-30T23:00:00.000Z',
      planReason: null,
      ...LASTING,
    });
  });

  test('is ended by set-plan without it', async () => {
    const { id } = await create('--plan', 'free');
    await setPlan(id, '--plan', 'business', '--until', '1h', '--reason', 'a sale');
    expect(await setPlan(id, '--plan', 'pro')).toMatchObject(NOT_RAISED);
    expect(await show(id)).toMatchObject(NOT_RAISED);
  });

  test('stays with a key that is rotated, which prints what it always prints', async () => {
    const created = await create('--plan', 'pro');
    const { id } = created;
    await setPlan(id, '--plan', 'business', '--until', '1h');
    expect(await commandLine.json(['keys', 'rotate', id])).toEqual({
      ...created,
      key: expect.any(String),
      plan: 'business',
      perMinute: 1_000,
      perDay: 100_000,
    });
    expect(await show(id)).toMatchObject({ plan: 'business', planUntil: expect.any(String), ...LASTING });
  });
});

test('a key that does not exist is reported', async () => {
  const commands = [
    ['show'],
    ['rotate'],
    ['revoke'],
    ['set-plan', '--plan', 'free'],
    ['set-plan', '--plan', 'free', '--until', '1h'],
  ];
  for (const [command = '', ...flags] of commands) {
    const { code, stdout, stderr } = await commandLine.run(['keys', command, 'Nobody00', ...flags, '--json']);
    expect([code, stdout, stderr]).toEqual([1, '', 'petstore: key Nobody00 not found\n']);
  }
});

describe('the running servers', () => {
  test('are notified of each change over Redis', async () => {
    await using redis = await createTestRedis();
    const environment = { REDIS_URL: redis.url };
    const notified: string[] = [];
    const subscriber = new Redis(redis.url);
    await subscriber.subscribe('petstore:api-key-changed');
    subscriber.on('message', (_channel, id) => notified.push(id));
    try {
      const { id } = await create('--plan', 'free');
      for (const args of [
        ['rotate', id],
        ['set-plan', id, '--plan', 'pro'],
        ['set-plan', id, '--plan', 'business', '--until', '1h'],
        ['revoke', id],
      ]) {
        await commandLine.json(['keys', ...args], { environment });
      }
      await expect.poll(() => notified.filter((one) => one === id), { timeout: 20_000 }).toHaveLength(4);
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
