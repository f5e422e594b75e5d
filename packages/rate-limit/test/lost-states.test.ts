import { setImmediate as nextTurn } from 'node:timers/promises';
import { createTestRedis, type RedisServerOptions, startRedisServer } from '@petstore/testing';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { connectRedis, type UnfitEviction, watchEviction } from '../src/index.ts';
import { RedisLimiter, stateKeyOf } from '../src/redis-limiter.ts';
import { ask, openScenario, PATIENT } from './support/fault-scenario.ts';
import { arrivals, limits, newKey, PROPERTY_RUNS, traffic } from './support/traffic.ts';

const FULL_BYTES = 3_000_000;
const ADDRESSES = 15_000;

/** As many requests of distinct networks, without a key. */
async function flood({ limiter }: Awaited<ReturnType<typeof openScenario>>): Promise<void> {
  for (let i = 0; i < ADDRESSES; i += 500) {
    const addresses = Array.from({ length: 500 }, (_, j) => ({
      name: `address:2001:db8:0:${(i + j).toString(16)}::/64`,
      perMinute: 60,
      perDay: undefined,
    }));
    await Promise.all(addresses.map((address) => limiter.check(address, 1)));
  }
}

test('with volatile-ttl a used-up key outlives a flood of addresses that fills Redis', async () => {
  const config = { databases: 1, maxmemory: FULL_BYTES, 'maxmemory-policy': 'volatile-ttl' };
  await using scenario = await openScenario({ ...PATIENT, config });
  const { limiter, server, changes } = scenario;
  const subject = newKey(1_000, 1_000);
  await limiter.check(subject, 1_000);
  await flood(scenario);
  const stats = await ask(server.port, (client) => client.info('stats'));
  expect(Number(/evicted_keys:(\d+)/.exec(stats)?.[1])).toBeGreaterThan(1_000);
  expect(await limiter.check(subject, 1)).toMatchObject({ outcome: 'refused', day: { remaining: 0 } });
  expect(changes).toEqual([]);
});

describe('the first connection reports to the operator', () => {
  const READER = { username: 'reader', password: 'may-read' };
  const reportsOf = async (config: RedisServerOptions['config'], access: Partial<typeof READER> = {}) => {
    await using server = await startRedisServer(config === undefined ? {} : { config });
    const location = { type: 'single', host: '127.0.0.1', port: server.port, database: 0, tls: false } as const;
    const redis = connectRedis({ ...location, ...access }, PATIENT);
    const reports: UnfitEviction[] = [];
    watchEviction(redis, (unfit) => reports.push(unfit));
    await expect.poll(() => redis.status).toBe('ready');
    await redis.ping(); // what was asked before has been responded to
    await nextTurn();
    redis.disconnect();
    return reports.map(({ redis: _, ...unfit }) => unfit);
  };

  test.each(['noeviction', 'allkeys-lru'])('that a full Redis with %s does harm', async (policy) => {
    expect(await reportsOf({ maxmemory: FULL_BYTES, 'maxmemory-policy': policy })).toEqual([
      { policy, maxMemoryBytes: FULL_BYTES },
    ]);
  });

  test('nothing where the policy is volatile-ttl, or where memory has no bound', async () => {
    expect(await reportsOf({ maxmemory: FULL_BYTES, 'maxmemory-policy': 'volatile-ttl' })).toEqual([]);
    expect(await reportsOf({ 'maxmemory-policy': 'allkeys-lru' })).toEqual([]);
  });

  test('nothing where the user may not look', async () => {
    const user = `${READER.username} on >${READER.password} ~* +@connection`;
    expect(await reportsOf({ maxmemory: FULL_BYTES, 'maxmemory-policy': 'allkeys-lru', user }, READER)).toEqual([]);
  });
});

const DAY_AND_BAN_MS = 87_300_000 + 3_600_000;

const damages = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 80 }).map((bytes) => () => Buffer.from(bytes)),
  fc.tuple(fc.nat(), fc.nat({ max: 255 })).map(([at, byte]) => (state: Buffer) => {
    const damaged = Buffer.from(state);
    damaged[at % damaged.length] = byte;
    return damaged;
  }),
  fc.nat().map((length) => (state: Buffer) => state.subarray(0, length % state.length)),
);

test('a state that is damaged fails no call, changes no other key, and keeps its own out for a day and an hour at most', async () => {
  await using database = await createTestRedis();
  const redis = new Redis(database.url);
  let nowMs = 1_700_000_000_000;
  const limiter = new RedisLimiter({ redis, nowMs: () => nowMs });
  const other = newKey(1_000_000_000, 1_000_000_000);
  const used = async () => (await limiter.peek(other)).day?.used ?? 0;
  const property = fc.asyncProperty(limits, traffic({ hammers: true }), damages, async (plan, requests, damage) => {
    nowMs = 1_700_000_000_000;
    const subject = newKey(plan.perMinute, plan.perDay);
    for (const { cost, nowMs: atMs } of arrivals(subject, requests.slice(0, 12), nowMs)) {
      nowMs = atMs;
      await limiter.check(subject, cost);
    }
    const key = stateKeyOf(subject.name);
    await redis.set(key, damage((await redis.getBuffer(key)) ?? expect.fail()));
    nowMs += 1;
    const before = await used();
    const decisions = await Promise.all([other, subject, other].map((each) => limiter.check(each, 1)));
    expect((await used()) - before).toBe(2);
    expect(decisions.map(({ outcome }) => outcome)).toEqual(['admitted', expect.any(String), 'admitted']);
    nowMs += DAY_AND_BAN_MS;
    expect((await limiter.check(subject, 1)).outcome).toBe('admitted');
  });
  await fc.assert(property, { numRuns: Math.ceil(PROPERTY_RUNS / 2) });
  redis.disconnect();
});
