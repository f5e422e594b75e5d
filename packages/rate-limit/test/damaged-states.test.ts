import { createTestRedis } from '@petstore/testing';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { RedisLimiter, stateKeyOf } from '../src/redis-limiter.ts';
import { arrivals, limits, newKey, PROPERTY_RUNS, traffic } from './support/traffic.ts';

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
