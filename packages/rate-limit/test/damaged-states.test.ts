import { createTestRedis, type TestRedis } from '@petstore/testing';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkState, type SubjectState } from '../src/algorithm/subject-state.ts';
import type { RateLimitSubject } from '../src/index.ts';
import { RedisLimiter } from '../src/redis/redis-limiter.ts';
import { encodeState } from './support/encode-state.ts';
import { arrivals, limits, newKey, PROPERTY_RUNS, startMs, traffic } from './support/traffic.ts';

const DAY = 86_400_000;
/** Where check.lua keeps the time of the last request of the day. */
const DAY_LAST_OFFSET = 30;

let database: TestRedis;
let redis: Redis;
let limiter: RedisLimiter;
let nowMs = 0;

beforeAll(async () => {
  database = await createTestRedis();
  redis = new Redis(database.url);
  limiter = new RedisLimiter({ redis, timeoutMs: 30_000, nowMs: () => nowMs });
});
afterAll(async () => {
  await redis.quit();
  await database[Symbol.asyncDispose]();
});

/** A state after some traffic, and when that ended. */
const states = fc
  .tuple(limits, traffic({ hammers: true }), startMs)
  .map(([{ perMinute, perDay }, requests, fromMs]): { subject: RateLimitSubject; state: SubjectState } => {
    const first = newKey(perMinute, perDay);
    let state: SubjectState | undefined;
    for (const { subject, cost, nowMs: atMs } of arrivals(first, requests, fromMs)) {
      state = checkState(state, subject, cost, atMs).state;
    }
    return { subject: first, state: state ?? expect.fail() };
  });

type Damage = (bytes: Buffer) => Buffer;
const damages = fc.oneof(
  fc.nat().map(
    (at): Damage =>
      (bytes) =>
        bytes.subarray(0, at % bytes.length),
  ),
  fc.uint8Array({ minLength: 1, maxLength: 100 }).map(
    (more): Damage =>
      (bytes) =>
        Buffer.concat([bytes, more]),
  ),
  fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 5 }).map(
    (changes): Damage =>
      (bytes) => {
        const changed = Buffer.from(bytes);
        for (const [at, byte] of changes) changed[at % bytes.length] = byte;
        return changed;
      },
  ),
  fc.uint8Array({ maxLength: 200 }).map(
    (bytes): Damage =>
      () =>
        Buffer.from(bytes),
  ),
);

describe('a state that cannot be read', () => {
  test.each<[string, (storageKey: string, bytes: Buffer) => Promise<unknown>]>([
    ['was cut', (storageKey, bytes) => redis.set(storageKey, bytes.subarray(0, bytes.length - 24))],
    ['was cut in its header', (storageKey, bytes) => redis.set(storageKey, bytes.subarray(0, 60))],
    ['is of another type', (storageKey) => redis.lpush(storageKey, 'one', 'two')],
    ['is empty', (storageKey) => redis.set(storageKey, '')],
    ['is of an unknown version', (storageKey, bytes) => redis.set(storageKey, Buffer.concat([Buffer.of(9), bytes]))],
  ])('because it %s is none, for its key alone', async (_, damage) => {
    nowMs = 1_700_000_000_000;
    const [one, other, damaged] = [newKey(60, 1_000), newKey(60, 1_000), newKey(60, 1_000)];
    let state: SubjectState | undefined;
    for (let i = 0; i < 20; i++) state = checkState(state, damaged, 1, nowMs - 25_000 + i * 1_100).state;
    const bytes = encodeState(state ?? expect.fail());
    expect(bytes.length).toBeGreaterThan(91);
    await redis.del(damaged.storageKey);
    await damage(damaged.storageKey, bytes);
    // The last one needs all entries of a state: it does not fit.
    const requests = [one, damaged, other, { ...damaged, perMinute: 1 }].map((subject) => limiter.check(subject, 1));
    expect(await Promise.all(requests)).toMatchObject([
      { outcome: 'admitted', minute: { remaining: 59 } },
      { outcome: 'admitted' },
      { outcome: 'admitted', minute: { remaining: 59 } },
      { outcome: 'rate_limit_exceeded' },
    ]);
    expect((await limiter.peek(one)).used).toEqual({ minute: 1, day: 1 });
    expect((await limiter.peek(other)).used).toEqual({ minute: 1, day: 1 });
    expect((await limiter.peek(damaged)).used).toEqual({ minute: 1, day: 1 });
  });

  test('because a window was last used behind the last change is none, even where a ban keeps it as it is', async () => {
    const subject = newKey(29, 1);
    nowMs = 1_700_000_000_000;
    const { state } = checkState(undefined, subject, 1, nowMs);
    const penalty = { counts: [0, 0, 0, 0, 0, 0] as const, queueEndMs: 0, banUntilMs: nowMs + 60_000, banLevel: 1 };
    const bytes = encodeState({ ...state, penalty });
    bytes.writeUInt32LE((nowMs + 2 * 3_600_000) % 2 ** 32, DAY_LAST_OFFSET);
    await redis.set(subject.storageKey, bytes);
    await limiter.check(subject, 1);
    nowMs += DAY + 3_600_000;
    expect((await limiter.check(subject, 1)).outcome).toBe('admitted');
  });

  test('fails no call whatever is in it, and keeps its key out for a day and an hour at most', async () => {
    const other = newKey(1_000_000_000, 1_000_000_000);
    nowMs = 1_700_000_000_000;
    const used = async () => (await limiter.peek(other)).used.day ?? 0;
    let [before, calls] = [0, 0];
    const property = fc.asyncProperty(states, damages, async ({ subject, state }, damage) => {
      nowMs = state.atMs + 1;
      await redis.set(subject.storageKey, damage(encodeState(state)));
      before = await used();
      const decisions = await Promise.all([
        limiter.check(other, 1),
        limiter.check(subject, 1),
        limiter.check(other, 1),
      ]);
      expect((await used()) - before).toBe(2);
      for (const { minute, day } of decisions) {
        expect(Number.isSafeInteger(minute.resetAtMs) && Number.isSafeInteger(day?.resetAtMs)).toBe(true);
      }
      nowMs += DAY + 3_600_000;
      expect((await limiter.check(subject, 1)).outcome).toBe('admitted');
      calls += 1;
    });
    await fc.assert(property, { numRuns: PROPERTY_RUNS });
    expect(calls).toBeGreaterThanOrEqual(PROPERTY_RUNS);
  });
});
