import { readFileSync } from 'node:fs';
import { createTestRedis, type TestRedis } from '@petstore/testing';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { advance, debit, decide, newState, read, type State } from '../src/algorithm.ts';
import { decisionOf, type Operation, type Row, snapshotOf } from '../src/redis-limiter.ts';
import { refusalsMaxOf } from '../src/subject.ts';
import { type Call, Model } from './support/model.ts';
import { PROPERTY_RUNS } from './support/traffic.ts';

const SCRIPT = readFileSync(new URL('../src/limiter.lua', import.meta.url), 'utf8');
const START_MS = 1_700_000_000_123;
/** How long Redis keeps a state at least: what is left after so long is nothing. */
const KEPT_MS = 61_000;

let database: TestRedis;
let redis: Redis;
beforeAll(async () => {
  database = await createTestRedis();
  redis = new Redis(database.url);
});
afterAll(async () => {
  redis.disconnect();
  await database[Symbol.asyncDispose]();
});

const operations = fc.constantFrom<Operation>(
  'decide',
  'decide',
  'decide',
  'decide',
  'decide',
  'debit',
  'read',
  'lift',
);
const gaps = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 60 }) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 70_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(999, 1_000, 1_001, 59_999, 60_000, 60_001, 61_000, 900_000) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 90_000_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -90_000_000, max: 0 }) }, // the clock is set back
);
const step = fc.record({
  operation: operations,
  gapMs: gaps,
  cost: fc.integer({ min: 1, max: 5 }),
  dayCost: fc.integer({ min: 0, max: 9 }),
  times: fc.constantFrom(1, 1, 1, 7, 300),
  /** A change of plan. */
  perMinute: fc.option(fc.constantFrom(5, 29, 60, 1_000, 1_000_000_000), { freq: 10, nil: undefined }),
});
const histories = fc.record({
  perMinute: fc.constantFrom<number>(5, 29, 60, 1_000),
  perDay: fc.constantFrom(undefined, 7, 100, 1_000_000),
  steps: fc.array(step, { minLength: 10, maxLength: 60 }),
});

/** What the functions in the process make of a call. */
function apply(state: State, { operation, limits, use: [a, b] }: Call, now: number) {
  advance(state, now);
  const subject = { name: '', ...limits };
  if (operation === 'decide') return decide(state, subject, { cost: a, refusalsMax: refusalsMaxOf(subject) }, now);
  if (operation === 'debit') debit(state, subject, { minute: a, day: b }, now);
  // Operators lift bans only in Redis.
  if (operation === 'lift') Object.assign(state, { refusals: newState().refusals, level: 0, bannedUntil: 0 });
  return read(state, subject, now);
}

test('the script in Redis, the functions in the process and the plain model decide alike', async () => {
  let [calls, serial] = [0, 0];
  const property = fc.asyncProperty(histories, async ({ perDay, steps, ...first }) => {
    const key = `key ${serial++}`;
    const state = newState();
    const model = new Model();
    let { perMinute } = first;
    let now = START_MS;
    for (const { operation, gapMs, cost, dayCost, times, ...change } of steps) {
      now += gapMs;
      perMinute = change.perMinute ?? perMinute;
      const limits = { perMinute, perDay };
      const use: [number, number] = [0, 0];
      if (operation === 'decide') use[0] = Math.min(cost, perMinute, perDay ?? cost);
      if (operation === 'debit') use.splice(0, 2, cost, dayCost);
      const keys = new Array<string>(times).fill(key);
      const subject = { name: key, ...limits };
      const second = operation === 'decide' ? (refusalsMaxOf(subject) ?? '') : use[1];
      const values = [operation, perMinute, perDay ?? '', use[0], second];
      const rows = (await redis.eval(SCRIPT, times, ...keys, now, ...keys.flatMap(() => values))) as Row[]; // as the script describes them
      if (operation !== 'read') expect(await redis.pttl(key)).toBeGreaterThan(KEPT_MS - 10_000);
      await redis.persist(key); // its time to live runs by the real clock
      const results = rows.map((row) => (operation === 'decide' ? decisionOf : snapshotOf)(row, subject));
      const call = { operation, limits, use };
      const isRead = operation === 'read'; // it changes nothing
      expect(results).toEqual(keys.map(() => apply(isRead ? structuredClone(state) : state, call, now)));
      expect(rows).toEqual(keys.map(() => (isRead ? model.copy() : model).apply(call, now)));
      calls += times;
    }
  });
  await fc.assert(property, { numRuns: Math.ceil(PROPERTY_RUNS / 4) });
  expect(calls).toBeGreaterThan(PROPERTY_RUNS * 80);
});
