import { createTestRedis } from '@petstore/testing';
import { describe, expect, test, vi } from 'vitest';
import { bannedDecisionOf, connectRedis, InProcessLimiter, ResilientLimiter } from '../src/index.ts';
import { recallStanding } from '../src/recall-standing.ts';
import { RefusalMemory } from '../src/refusal-memory.ts';
import { checkState } from '../src/subject-state.ts';
import { newAddress, newKey } from './traffic.ts';

const T0 = 1_700_000_000_000;

async function openLimiter() {
  const redis = await createTestRedis();
  const { hostname: host, port, pathname } = new URL(redis.url);
  const connection = connectRedis({
    type: 'single',
    host,
    port: Number(port),
    database: Number(pathname.slice(1)),
    tls: false,
  });
  const limiter = new ResilientLimiter({ redis: connection, timeoutMs: 20_000 });
  await limiter.started;
  const sendCommand = vi.spyOn(connection, 'sendCommand'); // and sends it
  return {
    limiter,
    /** How many commands were sent to Redis. */
    commands: () => sendCommand.mock.calls.length,
    async [Symbol.asyncDispose]() {
      limiter.close();
      connection.disconnect();
      await redis[Symbol.asyncDispose]();
    },
  };
}

describe('an address over its limit', () => {
  test('is refused from memory until its next unit is freed, under the time that was told', () => {
    const address = newAddress();
    const memory = new RefusalMemory();
    let state = checkState(undefined, address, 1, T0).state;
    for (let i = 1; i < 60; i++) state = checkState(state, address, 1, T0 + i * 100).state;
    const { answer } = checkState(state, address, 1, T0 + 6_000);
    if (answer.outcome !== 'rate_limit_exceeded') throw new Error('61 requests do not fit');
    memory.remember(address, answer, 1_000);
    const told = answer.atMs + answer.retryAfterSeconds * 1_000;
    const lastMs = answer.releaseAtMs - answer.atMs - 1;
    for (const afterMs of [0, 1, 20_000, lastMs]) {
      const recalled = memory.recall(address, 1_000 + afterMs);
      expect(recalled).toMatchObject({ outcome: 'rate_limit_exceeded', atMs: answer.atMs + afterMs });
      expect(recalled?.retryAfterSeconds).toBe(Math.max(1, Math.ceil((told - answer.atMs - afterMs) / 1_000)));
    }
    expect(memory.recall(address, 1_000 + lastMs + 1)).toBeUndefined();
    // There is room again, as the limiter itself says.
    expect(checkState(state, address, 1, answer.releaseAtMs).answer.outcome).toBe('admitted');
  });

  test('costs Redis nothing more, and a key that is used up is asked about each time', async () => {
    await using opened = await openLimiter();
    const { limiter, commands } = opened;
    const address = newAddress();
    for (let i = 0; i < 61; i++) await limiter.check(address, 1);
    const before = commands();
    for (let i = 0; i < 1_000; i++) expect(limiter.check(address, 1)).toMatchObject({ outcome: 'rate_limit_exceeded' });
    expect(limiter.recall(address)).toMatchObject({ outcome: 'rate_limit_exceeded', minute: { remaining: 0 } });
    expect(commands()).toBe(before);
    const key = newKey(1, 10);
    for (let i = 0; i < 5; i++) await limiter.check(key, 1);
    expect(commands()).toBe(before + 5);
    expect(limiter.recall(key)).toMatchObject({ outcome: 'recalled', minute: { remaining: 0 } });
  });

  test('is recalled by the limiter in the process, too, which keeps nothing of it', () => {
    let nowMs = T0;
    const limiter = new InProcessLimiter({ nowMs: () => nowMs });
    const address = newAddress();
    for (let i = 0; i < 60; i++) limiter.check(address, 1);
    expect(limiter.recall(address)).toMatchObject({ outcome: 'rate_limit_exceeded', releaseAtMs: T0 + 60_000 });
    nowMs += 60_000;
    expect(limiter.recall(address)).toMatchObject({ outcome: 'recalled', minute: { remaining: 60 } });
  });
});

describe('a ban', () => {
  test('that a look at the standing shows is answered from memory, under the same times', async () => {
    await using opened = await openLimiter();
    const { limiter, commands } = opened;
    const key = newKey(2, 1_000);
    let banned = await limiter.check(key, 1);
    const deadline = performance.now() + 20_000;
    while (banned.outcome !== 'api_key_banned' && performance.now() < deadline) banned = await limiter.check(key, 1);
    if (banned.outcome !== 'api_key_banned') throw new Error('hammering was not banned');
    const standing = await limiter.peek(key);
    expect(bannedDecisionOf(standing)).toMatchObject({
      outcome: 'api_key_banned',
      bannedUntilMs: banned.bannedUntilMs,
    });
    const before = commands();
    for (let i = 0; i < 100; i++) expect(limiter.recall(key)).toMatchObject({ bannedUntilMs: banned.bannedUntilMs });
    expect(commands()).toBe(before);
  });

  test('holds for every call in the process', () => {
    let nowMs = T0;
    const limiter = new InProcessLimiter({ nowMs: () => nowMs });
    const key = newKey(2, 1_000);
    let outcome = limiter.check(key, 1).outcome;
    for (let i = 0; i < 2_000 && outcome !== 'api_key_banned'; i++) {
      nowMs += 100;
      outcome = limiter.check(key, 1).outcome;
    }
    expect(outcome).toBe('api_key_banned');
    expect(limiter.recall(key).outcome).toBe('api_key_banned');
  });
});

describe('a standing from memory', () => {
  test('is that of a caller who has sent nothing, where none was seen', () => {
    expect(recallStanding(undefined, newKey(60, 1_000), T0)).toEqual({
      outcome: 'recalled',
      atMs: T0,
      minute: { limit: 60, remaining: 60, resetAtMs: T0 },
      day: { limit: 1_000, remaining: 1_000, resetAtMs: T0 },
    });
  });

  test('tells no more than remained, until all must have left the window', () => {
    const key = newKey(60, 1_000);
    const seen = checkState(undefined, key, 5, T0).answer;
    expect(recallStanding(seen, key, T0 + 30_000)).toMatchObject({
      minute: { remaining: 55, resetAtMs: T0 + 60_000 },
      day: { remaining: 995 },
    });
    expect(recallStanding(seen, key, T0 + 61_000)).toMatchObject({
      minute: { remaining: 60 },
      day: { remaining: 995 },
    });
    // A plan that was lowered since.
    expect(recallStanding(seen, { ...key, perMinute: 10 }, T0)).toMatchObject({ minute: { limit: 10, remaining: 10 } });
  });
});
