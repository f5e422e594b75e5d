import { readFileSync } from 'node:fs';
import { createTestRedis, type TestRedis } from '@petstore/testing';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RateLimitSubject } from '../src/index.ts';
import { readSnapshot } from '../src/redis/read-snapshot.ts';
import { RedisLimiter } from '../src/redis/redis-limiter.ts';
import { ExactLog } from './support/exact-log.ts';
import { hammer } from './support/hammer.ts';
import { arrivals, limits, newKey, PROPERTY_RUNS, startMs, traffic } from './support/traffic.ts';

// While servers are replaced one by one, those of release 1.0 run its script on the same states.
const FORMER_SCRIPT = readFileSync(new URL('./support/release-1.0.lua', import.meta.url), 'utf8');
const [TIME_BYTES, BANNED_CODE] = [8, 3];

let database: TestRedis;
let redis: Redis;
let limiter: RedisLimiter;
let formerSha: string;
let nowMs = 0;

beforeAll(async () => {
  database = await createTestRedis();
  redis = new Redis(database.url);
  formerSha = String(await redis.script('LOAD', FORMER_SCRIPT));
  limiter = new RedisLimiter({ redis, timeoutMs: 30_000, nowMs: () => nowMs });
});
afterAll(async () => {
  await redis.quit();
  await database[Symbol.asyncDispose]();
});

/** A call as a server of release 1.0 makes it. @returns its reply */
async function callFormer({ storageKey, perMinute, perDay = 0 }: RateLimitSubject, mode: 'k' | 'p', cost: number) {
  const reply = await redis.callBuffer('EVALSHA', formerSha, 1, storageKey, nowMs, mode, cost, perMinute, perDay);
  return reply as Buffer; // what the script returns
}

const checkByFormer = async (subject: RateLimitSubject, cost = 1) => {
  const code = (await callFormer(subject, 'k', cost)).readUInt8(TIME_BYTES);
  return code === 0 ? 'admitted' : code < BANNED_CODE ? 'rate_limit_exceeded' : 'api_key_banned';
};
const peekByFormer = async (subject: RateLimitSubject) =>
  readSnapshot(await callFormer(subject, 'p', 1), TIME_BYTES, subject);

describe('beside servers of release 1.0', () => {
  test('windows are exact, whichever release counts', async () => {
    const given = fc.tuple(
      limits,
      traffic({ changesPlan: true, hammers: true }),
      startMs,
      fc.infiniteStream(fc.boolean()),
    );
    const seen = { admitted: 0, refused: 0 };
    const property = fc.asyncProperty(given, async ([{ perMinute, perDay }, requests, fromMs, isFormer]) => {
      const log = new ExactLog();
      for (const { subject, cost, nowMs: atMs } of arrivals(
        newKey(perMinute, perDay),
        requests.slice(0, 300),
        fromMs,
      )) {
        nowMs = atMs;
        const outcome = isFormer.next().value
          ? await checkByFormer(subject, cost)
          : (await limiter.check(subject, cost)).outcome;
        if (outcome === 'admitted') {
          log.add(nowMs, cost);
          seen.admitted += 1;
          expect(log.sum(nowMs, 60_000)).toBeLessThanOrEqual(subject.perMinute);
          expect(log.sum(nowMs, 86_400_000)).toBeLessThanOrEqual(subject.perDay ?? 0);
        } else if (outcome === 'rate_limit_exceeded') {
          seen.refused += 1;
          const hasRoom = log.sum(nowMs, 61_000) + cost <= subject.perMinute;
          expect(hasRoom && log.sum(nowMs, 86_700_000) + cost <= (subject.perDay ?? 0)).toBe(false);
        }
      }
    });
    await fc.assert(property, { numRuns: Math.ceil(PROPERTY_RUNS / 25) });
    expect(Math.min(seen.admitted, seen.refused)).toBeGreaterThan(PROPERTY_RUNS / 4);
  });

  test('a ban that either sets holds for both, with its level', async () => {
    nowMs = 1_700_000_000_000;
    const ours = newKey(5, 1_000);
    const { bannedUntilMs } = await hammer(limiter, ours);
    expect(await checkByFormer(ours)).toBe('api_key_banned');
    expect((await peekByFormer(ours)).ban).toEqual({ untilMs: bannedUntilMs, level: 1 });

    const theirs = newKey(5, 1_000);
    for (let i = 0; i < 6; i++) await checkByFormer(theirs);
    nowMs += 2_001;
    for (let i = 0; i < 5; i++) await checkByFormer(theirs);
    const { ban } = await peekByFormer(theirs);
    expect(ban?.level).toBe(1);
    expect(await limiter.check(theirs, 1)).toMatchObject({ outcome: 'api_key_banned', bannedUntilMs: ban?.untilMs });
    nowMs = (ban?.untilMs ?? 0) + 1_000;
    expect(await hammer(limiter, theirs)).toMatchObject({ level: 2, isNew: true });
    expect((await peekByFormer(theirs)).ban?.level).toBe(2);
  });

  test('refusals that one has counted are none to the other, so that neither bans for what both saw', async () => {
    nowMs = 1_700_000_000_000;
    const subject = newKey(60, 1_000);
    for (let i = 0; i < 60 + 200; i++) await limiter.check(subject, 1);
    expect((await limiter.peek(subject)).strikes).toBeGreaterThan(150);
    expect((await peekByFormer(subject)).strikes).toBe(0);
    nowMs += 5_000;
    for (let i = 0; i < 50; i++) expect(await checkByFormer(subject)).toBe('rate_limit_exceeded');
    expect((await limiter.peek(subject)).strikes).toBe(0);
    expect((await limiter.peek(subject)).used).toEqual({ minute: 60, day: 60 });
  });
});
