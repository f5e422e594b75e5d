import { createTestRedis, type TestRedis } from '@petstore/testing';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAnswer } from '../src/check-reply.ts';
import type { RateLimitDecision } from '../src/index.ts';
import { defineScripts, type ScriptedRedis } from '../src/redis-scripts.ts';
import { decodeState, encodeState } from '../src/state-codec.ts';
import { checkState, debitState, keepForMs, type SubjectState } from '../src/subject-state.ts';
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

/** What the script answered and left behind. */
async function runScript(together: readonly Step[]) {
  const keys = together.map(({ subject }) => subject.storageKey);
  const key = keys[0] ?? '';
  const parameters = [...keys, together[0]?.nowMs ?? 0, ...together.flatMap(parametersOf)];
  const [reply, stored, ttlMs] = await Promise.all([
    redis.rateLimitCheckBuffer(together.length, parameters),
    redis.getBuffer(key),
    redis.pttl(key),
  ]);
  return { reply, stored, ttlMs };
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

  test('keeps a state for as long as it matters, and no longer than two days', async () => {
    const property = fc.asyncProperty(steps, async (all) => {
      const groups = group(all);
      const done = await Promise.all(groups.map(runScript));
      let state: SubjectState | undefined;
      for (const [i, together] of groups.entries()) {
        const { ttlMs } = done[i] ?? expect.fail();
        const before = state;
        state = runModel(state, together).state;
        const subject = together[0]?.subject;
        if (state === undefined || state === before || subject === undefined) continue;
        const quantumMs = subject.type === 'api-key' ? 300_000 : 1_000;
        // The clock is not Redis' own, so what runs off in the meantime is the little that the test itself takes.
        expect(ttlMs).toBeGreaterThan(keepForMs(state, subject.type) - quantumMs - 20_000);
        expect(ttlMs).toBeLessThan(2 * 86_400_000);
      }
    });
    await fc.assert(property, { numRuns: Math.ceil(PROPERTY_RUNS / 5) });
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
