import { createTestRedis, type TestRedis } from '@petstore/testing';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAnswer } from '../src/check-reply.ts';
import type { RateLimitDecision } from '../src/index.ts';
import { NO_PENALTY, penaltyRestsAtMs } from '../src/penalty.ts';
import { defineScripts, type ScriptedRedis } from '../src/redis-scripts.ts';
import { decodeState, encodeState } from '../src/state-codec.ts';
import { checkState, debitState, type SubjectState } from '../src/subject-state.ts';
import { type Arrival, arrivals, limits, newAddress, newKey, PROPERTY_RUNS, startMs, traffic } from './traffic.ts';

let database: TestRedis;
let redis: ScriptedRedis;

beforeAll(async () => {
  database = await createTestRedis();
  redis = defineScripts(new Redis(database.url));
});
afterAll(async () => {
  await redis.quit();
  await database[Symbol.asyncDispose]();
});

interface Step extends Arrival {
  /** Logs the cost to the minute, and to the day twice as much, in the place of a check. */
  readonly isDebit: boolean;
}

const steps = fc
  .tuple(limits, traffic({ stepsBack: true, changesPlan: true }), startMs, fc.boolean(), fc.nat({ max: 30 }))
  .map(([{ perMinute, perDay }, requests, fromMs, isKey, debitEvery]): Step[] =>
    [...arrivals(isKey ? newKey(perMinute, perDay) : newAddress(), requests, fromMs)].map((arrival, i) => ({
      ...arrival,
      isDebit: debitEvery > 3 && i % debitEvery === 0,
    })),
  );

/** Requests that came in at the same time go to the script together. */
function group(all: readonly Step[]): Step[][] {
  const groups: Step[][] = [];
  for (const step of all) {
    const last = groups.at(-1);
    if (last?.[0]?.nowMs === step.nowMs) last.push(step);
    else groups.push([step]);
  }
  return groups;
}

function parametersOf({ subject, cost, isDebit }: Step): (string | number)[] {
  const isKey = subject.type === 'api-key';
  if (isDebit) return [isKey ? 'd' : 'b', cost, subject.perMinute, cost * 2];
  return [isKey ? 'k' : 'a', cost, subject.perMinute, subject.perDay ?? 0];
}

/** Longer than any state is kept: where it still stands after a call, the call has not set a time to live. */
const UNTOUCHED_TTL_MS = 10 * 86_400_000;

/** What the script answered and left behind. */
async function runScript(together: readonly Step[]) {
  const keys = together.map(({ subject }) => subject.storageKey);
  const key = keys[0] ?? '';
  const nowMs = together[0]?.nowMs ?? 0;
  const [, reply, stored, ttlMs] = await Promise.all([
    redis.pexpire(key, UNTOUCHED_TTL_MS),
    redis.rateLimitCheckBuffer(together.length, [...keys, nowMs, ...together.flatMap(parametersOf)]),
    redis.getBuffer(key),
    redis.pttl(key),
  ]);
  /** Until when the state would be kept by the clock that the script was given, if the call has said so. */
  const keptUntilMs = ttlMs > UNTOUCHED_TTL_MS / 2 ? undefined : nowMs + ttlMs;
  return { reply, stored, ttlMs, keptUntilMs };
}

/** What the pure function makes of the same. */
function runModel(before: SubjectState | undefined, together: readonly Step[]) {
  let state = before;
  const answers: (RateLimitDecision | undefined)[] = [];
  for (const { subject, cost, isDebit, nowMs } of together) {
    if (isDebit) {
      state = debitState(state, subject, { minute: cost, day: cost * 2 }, nowMs);
      answers.push(undefined);
    } else {
      const step = checkState(state, subject, cost, nowMs);
      state = step.state;
      answers.push(step.answer);
    }
  }
  return { state, answers };
}

describe('the script in Redis', () => {
  test('answers and leaves behind, call by call, what the pure function does', async () => {
    let calls = 0;
    const property = fc.asyncProperty(steps, async (all) => {
      const groups = group(all);
      const done = await Promise.all(groups.map(runScript));
      let state: SubjectState | undefined;
      for (const [i, together] of groups.entries()) {
        const { reply, stored } = done[i] ?? expect.fail();
        const model = runModel(state, together);
        state = model.state;
        for (const [j, { subject }] of together.entries()) {
          const expected = model.answers[j];
          if (expected !== undefined) expect(readAnswer(reply, j, subject)).toEqual(expected);
        }
        if (state === undefined) expect.fail('there is always a state after a call');
        expect(stored?.toString('hex')).toBe(encodeState(state).toString('hex'));
        calls += together.length;
      }
      const last = all.at(-1);
      if (last !== undefined) await redis.del(last.subject.storageKey);
    });
    await fc.assert(property, { numRuns: PROPERTY_RUNS * 7 });
    expect(calls).toBeGreaterThan(PROPERTY_RUNS * 700);
  });

  // The clock is not Redis' own: what runs off of a time to live before it is read is what the test itself takes.
  const RUN_OFF_MS = 20_000;

  test('keeps a state for as long as it matters, and no longer than two days', async () => {
    const property = fc.asyncProperty(steps, async (all) => {
      const groups = group(all);
      const done = await Promise.all(groups.map(runScript));
      let state: SubjectState | undefined;
      let keptUntilMs = 0;
      for (const [i, together] of groups.entries()) {
        const result = done[i] ?? expect.fail();
        const subject = together[0]?.subject;
        state = runModel(state, together).state;
        if (state === undefined || subject === undefined) continue;
        if (result.keptUntilMs !== undefined) {
          keptUntilMs = result.keptUntilMs;
          expect(result.ttlMs).toBeLessThan(2 * 86_400_000);
        }
        const windowMs = subject.type === 'api-key' ? 86_400_000 : 60_000;
        const restsAtMs = state.penalty === NO_PENALTY ? 0 : penaltyRestsAtMs(state.penalty);
        expect(keptUntilMs).toBeGreaterThan(Math.max(state.atMs + windowMs, restsAtMs) - RUN_OFF_MS);
      }
    });
    await fc.assert(property, { numRuns: Math.ceil(PROPERTY_RUNS / 5) });
  });

  test('keeps a day for a day after its last hit, however few come', async () => {
    const subject = newKey(1_000, 1_000);
    let keptUntilMs = 0;
    // Each minute is over when the next hit comes, and the day becomes longer than what is written anew with each hit.
    for (let i = 0; i < 120; i++) {
      const nowMs = 1_700_000_000_000 + i * 61_000;
      const result = await runScript([{ subject, cost: 1, nowMs, isDebit: false }]);
      keptUntilMs = result.keptUntilMs ?? keptUntilMs;
      expect(keptUntilMs).toBeGreaterThan(nowMs + 86_400_000 - RUN_OFF_MS);
    }
  });

  test('writes over whatever else stands under its key', async () => {
    const subject = newKey(5, 5);
    const key = subject.storageKey;
    const foreign = [
      () => redis.rpush(key, 'a list'),
      () => redis.set(key, ''),
      () => redis.set(key, 'x'.repeat(100)),
      () => redis.set(key, `\u0003${'\u0000'.repeat(100)}`),
    ];
    for (const write of foreign) {
      await redis.del(key);
      await write();
      const reply = await redis.rateLimitCheckBuffer(1, [key, 1_700_000_000_000, 'k', 1, 5, 5]);
      expect(readAnswer(reply, 0, subject)).toMatchObject({ outcome: 'admitted', minute: { remaining: 4 } });
    }
  });

  test('goes by the clock of Redis when it is given none', async () => {
    const subject = newKey(5, 5);
    const reply = await redis.rateLimitCheckBuffer(1, [subject.storageKey, '', 'k', 1, 5, 5]);
    const [seconds] = await redis.time();
    expect(Math.abs(readAnswer(reply, 0, subject).atMs - Number(seconds) * 1000)).toBeLessThan(2_000);
  });
});

test('what is neither a state of this version nor whole is not read', () => {
  const state = checkState(undefined, newKey(5, 5), 1, 1_700_000_000_000).state;
  const bytes = encodeState(state);
  expect(decodeState(bytes)).toEqual(state);
  expect(decodeState(bytes.subarray(1))).toBeUndefined();
  expect(decodeState(Buffer.concat([bytes, Buffer.alloc(3)]))).toBeUndefined();
  expect(decodeState(Buffer.from(bytes.map((byte, i) => (i === 0 ? 9 : byte))))).toBeUndefined();
});
