import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { advance, decide, newState, type State } from '../src/algorithm.ts';
import type { RateLimitDecision, RateLimitRefusal } from '../src/index.ts';
import { refusalsMaxOf } from '../src/subject.ts';
import { checkState, newKey, PROPERTY_RUNS } from './support/traffic.ts';

const START_MS = 1_700_000_000_000;

interface Pool {
  readonly perMinute: number;
  readonly perDay?: number;
  readonly workers: number;
  /** When the worker of this index sends its first request, in milliseconds from the beginning. */
  readonly startMs: (index: number, random: () => number) => number;
  /** How long a worker that was admitted takes until its next request. */
  readonly thinkMs: (random: () => number) => number;
  /** How long a worker that was refused waits; by default as long as Retry-After says. */
  readonly waitMs?: (refusal: RateLimitRefusal, worker: Worker) => number;
  /** How long requests take at most, both ways together. */
  readonly latencyMs?: number;
  readonly batchMax?: number;
  readonly seed: number;
}

interface Worker {
  readonly index: number;
  readonly random: () => number;
}

interface PoolEvent {
  /** Milliseconds from the beginning. */
  readonly atMs: number;
  readonly worker: number;
  readonly decision: RateLimitDecision;
}

/** Workers with one key in virtual time. Yields each decision, without end. */
function* runPool(pool: Pool): Generator<PoolEvent> {
  const { perMinute, perDay = 1_000_000_000, workers, startMs, thinkMs, latencyMs = 0, batchMax = 1, seed } = pool;
  const { waitMs = ({ retryAfterSeconds }: RateLimitRefusal) => retryAfterSeconds * 1_000 } = pool;
  const subject = newKey(perMinute, perDay);
  const random = pseudoRandom(seed);
  const costMax = Math.min(batchMax, perMinute, perDay);
  const schedule = new Schedule<Worker>();
  for (let index = 0; index < workers; index++) {
    schedule.add(START_MS + Math.floor(startMs(index, random)), { index, random });
  }
  const state = newState();
  for (;;) {
    const { atMs, item: worker } = schedule.takeNext();
    advance(state, atMs);
    const request = { cost: 1 + Math.floor(random() * costMax), refusalsMax: refusalsMaxOf(subject) };
    const decision = decide(state, subject, request, atMs);
    yield { atMs: atMs - START_MS, worker: worker.index, decision };
    const isAdmitted = decision.outcome === 'admitted';
    const pauseMs = isAdmitted ? thinkMs(random) : waitMs(decision, worker);
    schedule.add(atMs + Math.max(1, Math.floor(pauseMs + random() * latencyMs)), worker);
  }
}

/** Items by their time, the earliest first. */
class Schedule<Item> {
  /** The last is due first. */
  readonly #entries: { readonly atMs: number; readonly item: Item }[] = [];

  add(atMs: number, item: Item): void {
    const index = this.#entries.findLastIndex((entry) => entry.atMs > atMs);
    this.#entries.splice(index + 1, 0, { atMs, item });
  }

  takeNext(): { readonly atMs: number; readonly item: Item } {
    const next = this.#entries.pop();
    if (next === undefined) throw new RangeError('nothing is scheduled');
    return next;
  }
}

/** Mulberry32: small, seeded, even. */
function pseudoRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const MINUTE = 60_000;

const RUNS = Math.ceil(PROPERTY_RUNS / 2);

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
        if (decision.outcome === 'banned') expect.fail(`banned after ${atMs} ms`);
        if (decision.outcome === 'refused') refusals += 1;
        if (--left === 0) break;
      }
    });
    fc.assert(property, { numRuns: RUNS });
    expect(refusals).toBeGreaterThan(RUNS * 200);
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
    expect(outcomes(250)).not.toContain('banned');
    expect(outcomes(251)).toContain('banned');
  });

  test.each([
    { workers: 30, gapMinutesMax: 9 },
    { workers: 120, gapMinutesMax: 27 },
  ])(
    'all get their turn: in two hours at 60 a minute none of $workers waits for more than $gapMinutesMax minutes',
    ({ workers, gapMinutesMax }) => {
      const gapsMinutes = [1, 2, 3].map((seed) => {
        const { longestGapMs, admitted } = runForTwoHours(workers, seed);
        expect(admitted).toBeGreaterThanOrEqual(0.97 * 60 * 120);
        return longestGapMs / MINUTE;
      });
      // Who is first of those who come together is chance: the median of three runs.
      expect(gapsMinutes.toSorted((one, other) => one - other)[1]).toBeLessThan(gapMinutesMax);
    },
  );

  /** The longest that any worker waited to be admitted. */
  function runForTwoHours(workers: number, seed: number) {
    const endMs = 120 * MINUTE;
    const lastMs = new Array<number>(workers).fill(0);
    let [admitted, longestGapMs] = [0, 0];
    for (const { atMs, worker, decision } of runPool({
      perMinute: 60,
      workers,
      startMs: (_, random) => random() * 1_000,
      thinkMs: (random) => 10 + random() * 20,
      latencyMs: 50,
      seed,
    })) {
      if (atMs > endMs) break;
      if (decision.outcome !== 'admitted') continue;
      admitted += 1;
      longestGapMs = Math.max(longestGapMs, atMs - (lastMs[worker] ?? 0));
      lastMs[worker] = atMs;
    }
    return { admitted, longestGapMs: Math.max(longestGapMs, endMs - Math.min(...lastMs)) };
  }

  test('come back as many at a time as there will be room for', () => {
    const subject = newKey(60, 1_000_000);
    const startMs = 1_700_000_000_000;
    let state: State | undefined;
    const checkAt = (nowMs: number) => {
      const step = checkState(state, subject, 1, nowMs);
      state = step.state;
      return step.decision;
    };
    for (let i = 0; i < 60; i++) checkAt(startMs + Math.floor(i / 2) * 1_000); // two units in each second
    const nowMs = startMs + 30_000;
    const waitsSeconds = Array.from({ length: 10 }, () => {
      const decision = checkAt(nowMs);
      return decision.outcome === 'refused' ? decision.retryAfterSeconds : expect.fail();
    });
    expect(waitsSeconds).toEqual([31, 31, 32, 32, 33, 33, 34, 34, 35, 35]);
  });
});

test('a caller that hammers is banned for a constant number of refusals, whatever its rate', () => {
  for (const [perSecond, seconds] of [
    [10, 40],
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
      if (decision.outcome === 'banned') break;
      if (decision.outcome === 'refused') refusals += 1;
      expect(atMs).toBeLessThan(seconds * 1_000);
    }
    expect(refusals).toBeGreaterThanOrEqual(250);
    expect(refusals).toBeLessThan(400);
  }
});
