import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkState, type SubjectState } from '../src/algorithm/subject-state.ts';
import type { RateLimitRefusal } from '../src/index.ts';
import { type Pool, runPool } from './support/pool.ts';
import { newKey, PROPERTY_RUNS } from './support/traffic.ts';

const MINUTE = 60_000;

/** How many workers may share a key of so many requests a minute. */
const largestPool = (perMinute: number) => Math.max(2 * perMinute, 250);

const starts = fc.constantFrom<Pool['startMs']>(
  () => 0,
  (_, random) => random() * 1_000,
  (index) => index * 100,
  (index) => index * 1_000,
  (_, random) => random() * MINUTE,
  (_, random) => random() * 5 * MINUTE,
);
const thinking = fc.constantFrom<Pool['thinkMs']>(
  () => 0,
  () => 20,
  () => 1_000,
  (random) => random() * 20_000,
  (random) => random() * 2 * MINUTE,
);

/** Ways to obey. Announced times are whole seconds: a client may round down, or have a clock that is a second off. */
const waits = fc.constantFrom<NonNullable<Pool['waitMs']>>(
  ({ retryAfterSeconds }) => retryAfterSeconds * 1_000,
  ({ retryAfterSeconds }, { random }) => retryAfterSeconds * 1_000 * (1 + random() * 0.2),
  ({ retryAfterSeconds }) => retryAfterSeconds * 1_000 - 999,
  (refusal) => untilReset(refusal),
  (refusal, { index }) => Math.max(1, untilReset(refusal) + (index % 3) * 999 - 999),
);
const untilReset = ({ retryAtMs, atMs }: RateLimitRefusal) => Math.ceil(retryAtMs / 1_000) * 1_000 - atMs;

const obedientPools = fc
  .record({
    perMinute: fc.oneof(fc.integer({ min: 1, max: 10 }), fc.constantFrom(29, 60, 126, 300)),
    perDay: fc.oneof(
      { weight: 4, arbitrary: fc.constant(1_000_000_000) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 500 }) },
    ),
    share: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
    startMs: starts,
    thinkMs: thinking,
    waitMs: waits,
    latencyMs: fc.constantFrom(0, 50, 1_000, 20_000),
    batchMax: fc.constantFrom(1, 1, 1, 10),
    seed: fc.integer(),
  })
  .map(({ share, ...pool }) => ({ ...pool, workers: Math.max(1, Math.round(share * largestPool(pool.perMinute))) }));

describe('workers that wait as announced, for Retry-After or until Reset,', () => {
  test('are never banned, however they begin, think and lag', () => {
    let refusals = 0;
    const property = fc.property(obedientPools, (pool) => {
      let left = 2_000 + 4 * pool.workers;
      for (const { atMs, decision } of runPool(pool)) {
        if (decision.outcome === 'api_key_banned') expect.fail(`banned after ${atMs} ms`);
        if (decision.outcome === 'rate_limit_exceeded') refusals += 1;
        if (--left === 0) break;
      }
    });
    fc.assert(property, { numRuns: PROPERTY_RUNS });
    expect(refusals).toBeGreaterThan(PROPERTY_RUNS * 200);
  });

  test('may be so many, and not one more: the guarantee is not better than the rule', () => {
    const outcomes = (workers: number) => {
      const pool = runPool({
        perMinute: 60,
        workers: 60 + workers,
        startMs: () => 0,
        thinkMs: () => 10 * MINUTE,
        seed: 1,
      });
      return new Set(Array.from({ length: 60 + workers }, () => pool.next().value?.decision.outcome));
    };
    expect(outcomes(250)).not.toContain('api_key_banned');
    expect(outcomes(251)).toContain('api_key_banned');
  });

  test.each([5, 10, 30])('all get their turn: none of %i is left out for long, and the limit is used up', (workers) => {
    const [perMinute, minutes] = [60, 120];
    for (let seed = 1; seed <= 5; seed++) {
      const pool: Pool = {
        perMinute,
        workers,
        startMs: (_, random) => random() * 1_000,
        thinkMs: (random) => 10 + random() * 20,
        latencyMs: 50,
        seed,
      };
      const lastMs = new Array<number>(workers).fill(0);
      let [admitted, longestMs] = [0, 0];
      for (const { atMs, worker, decision } of runPool(pool)) {
        if (atMs > minutes * MINUTE) break;
        if (decision.outcome !== 'admitted') continue;
        admitted += 1;
        longestMs = Math.max(longestMs, atMs - (lastMs[worker] ?? 0));
        lastMs[worker] = atMs;
      }
      longestMs = Math.max(longestMs, minutes * MINUTE - Math.min(...lastMs));
      expect(longestMs).toBeLessThan((workers <= 10 ? 10 : 20) * MINUTE);
      expect(admitted).toBeGreaterThanOrEqual(0.97 * perMinute * minutes);
    }
  });

  test('do not come back all at once', () => {
    const subject = newKey(60, 1_000_000);
    const promised = new Map<number, number>();
    let state: SubjectState | undefined;
    for (let i = 0; i < 60 + 60; i++) {
      const { state: after, decision } = checkState(state, subject, 1, 1_700_000_000_000);
      state = after;
      if (decision.outcome === 'admitted') continue;
      promised.set(decision.retryAfterSeconds, (promised.get(decision.retryAfterSeconds) ?? 0) + 1);
    }
    expect(promised.size).toBeGreaterThan(25);
    expect(Math.max(...promised.values())).toBeLessThanOrEqual(8);
  });
});

test('a caller that hammers is banned for a constant number of refusals, whatever its rate', () => {
  for (const [perSecond, seconds] of [
    [10, 40],
    [20, 20],
    [100, 5],
    [1_000, 2],
  ] as const) {
    const pool = runPool({
      perMinute: 60,
      workers: 1,
      startMs: () => 0,
      thinkMs: () => 1_000 / perSecond,
      waitMs: () => 1_000 / perSecond,
      seed: 1,
    });
    let refusals = 0;
    for (const { atMs, decision } of pool) {
      if (decision.outcome === 'api_key_banned') break;
      if (decision.outcome === 'rate_limit_exceeded') refusals += 1;
      expect(atMs).toBeLessThan(seconds * 1_000);
    }
    expect(refusals).toBeGreaterThanOrEqual(250);
    expect(refusals).toBeLessThan(400);
  }
});
