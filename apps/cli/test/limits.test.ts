import { type ApiKeyId, apiKeySubject } from '@petstore/domain';
import { connectRedis, RateLimitAdministration, type RateLimiter, ResilientLimiter } from '@petstore/rate-limit';
import { readStorageSettings } from '@petstore/runtime/settings';
import { createTestRedis, PATIENTLY, type TestRedis } from '@petstore/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectKey, useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();
let redis: TestRedis;
let environment: { REDIS_URL: string };

beforeAll(async () => {
  redis = await createTestRedis();
  environment = { REDIS_URL: redis.url };
});
afterAll(() => redis[Symbol.asyncDispose]());
const createFreeKey = async (): Promise<ApiKeyId> =>
  expectKey(await commandLine.json(['keys', 'create', '--plan', 'free'])).id;

/** The connection that a server's limiter has. */
async function withRedis(work: (redis: ReturnType<typeof connectRedis>) => Promise<void>): Promise<void> {
  const { redis: target } = readStorageSettings(environment, commandLine.folder);
  if (target === undefined) throw new Error('REDIS_URL is set');
  const connection = connectRedis(target, { timeoutMs: 20_000 });
  try {
    await expect.poll(() => connection.status, PATIENTLY).toBe('ready');
    await work(connection);
  } finally {
    connection.disconnect();
  }
}

const request = async (limiter: Pick<RateLimiter, 'check'>, id: ApiKeyId): Promise<string> =>
  (await limiter.check(apiKeySubject(id, { name: 'free' }), 1)).outcome;

/** The limiter of a server. It waits for Redis, however busy the machine is. */
const withLimiter = (work: (limiter: RateLimiter) => Promise<void>) =>
  withRedis(async (redis) => {
    const limiter = new ResilientLimiter({ redis });
    try {
      await expect.poll(() => limiter.isDegraded, PATIENTLY).toBe(false);
      await work(limiter);
    } finally {
      limiter.close();
    }
  });

const requestThrice = (id: ApiKeyId) =>
  withLimiter(async (limiter) => {
    for (let i = 0; i < 3; i++) expect(await request(limiter, id)).toBe('admitted');
  });

/** Continues after a 429, as only a client that ignores it does. */
const getBanned = (id: ApiKeyId) =>
  withLimiter(async (limiter) => {
    while ((await request(limiter, id)) === 'admitted');
    while ((await request(limiter, id)) === 'refused');
    expect(await request(limiter, id)).toBe('banned');
    // The ban is noted for lists after the decision.
    await withRedis(async (redis) => {
      const administration = new RateLimitAdministration(redis);
      await expect.poll(() => administration.listBans(), PATIENTLY).toHaveLength(1);
    });
  });

describe('limits show', () => {
  test('shows what is used of each window by the plan of the key, and costs nothing', async () => {
    const id = await createFreeKey();
    const beforeSeconds = Math.floor(Date.now() / 1_000);
    await requestThrice(id);
    const reset = expect.toSatisfy((at) => at >= beforeSeconds + 59 && at < beforeSeconds + 90, 'is a minute later');
    for (let i = 0; i < 2; i++) {
      expect(await commandLine.json(['limits', 'show', id], { environment })).toEqual({
        minute: { limit: 60, used: 3, remaining: 57, reset },
        day: { limit: 1_000, used: 3, remaining: 997, reset: expect.any(Number) },
        strikes: 0,
        ban: null,
      });
    }
    await commandLine.json(['keys', 'set-plan', id, '--plan', 'business']);
    expect(await commandLine.json(['limits', 'show', id], { environment })).toMatchObject({
      minute: { limit: 1_000, used: 3 },
      day: { limit: 100_000, used: 3 },
    });
  });

  test('is a table', async () => {
    const { stdout, stderr } = await commandLine.run(['limits', 'show', await createFreeKey()], { environment });
    expect(stdout).toMatch(/^window\tlimit\tused\tremaining\treset\nminute\t60\t0\t60\t-\n/);
    expect(stderr).toContain('Not banned; 0 refusals count towards a ban.');
  });

  test('refuses a key that does not exist', async () => {
    const { code, stdout, stderr } = await commandLine.run(['limits', 'show', 'aaaaaaaa'], { environment });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('key aaaaaaaa not found');
  });
});

test('bans are listed, shown and lifted, refusals and all, and not those of servers with another REDIS_PREFIX', async () => {
  const id = await createFreeKey();
  await getBanned(id);
  const other = { environment: { ...environment, REDIS_PREFIX: 'other:' } };
  expect(await commandLine.json(['bans', 'list'], other)).toEqual([]);
  expect(await commandLine.json(['limits', 'show', id], other)).toMatchObject({ minute: { used: 0 }, ban: null });
  expect(await commandLine.json(['bans', 'lift', id], other)).toMatchObject({ lifted: false });

  const ban = { until: expect.stringMatching(/^\d{4}-.*Z$/), level: 1 };
  expect(await commandLine.json(['bans', 'list'], { environment })).toEqual([{ id, ...ban }]);
  expect(await commandLine.json(['limits', 'show', id], { environment })).toMatchObject({ ban });
  expect(await commandLine.json(['bans', 'lift', id], { environment })).toEqual({ id, lifted: true, ...ban });
  expect(await commandLine.json(['bans', 'list'], { environment })).toEqual([]);
  expect(await commandLine.json(['limits', 'show', id], { environment })).toMatchObject({ strikes: 0, ban: null });
  expect(await commandLine.json(['bans', 'lift', id], { environment })).toEqual({
    id,
    lifted: false,
    level: null,
    until: null,
  });
});

test('the audit names who lifted a ban, if there was one', async () => {
  const id = await createFreeKey();
  await commandLine.json(['bans', 'lift', id], { environment });
  await getBanned(id);
  expect(await commandLine.json(['bans', 'lift', id, '--as', 'ada'], { environment })).toMatchObject({ lifted: true });
  expect(await commandLine.json(['audit', '--key', id])).toMatchObject([
    { action: 'ban.lifted', actor: 'operator:ada' },
    { action: 'key.created' },
  ]);
});
