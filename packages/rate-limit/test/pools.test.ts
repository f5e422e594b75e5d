import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkState, type SubjectState } from '../src/algorithm/subject-state.ts';
import { limits, newKey, PROPERTY_RUNS } from './support/traffic.ts';

const REQUESTS = 2_000;

interface Pool {
  readonly perMinute: number;
  readonly perDay: number;
  readonly workers: number;
  /** How long a worker that was admitted takes until its next request. */
  readonly thinkMs: number;
  /** How much later than its Retry-After a worker comes back. */
  readonly latenessMs: number;
  readonly batchMax: number;
  readonly seed: number;
}

/** Many workers with one key, which wait for as long as Retry-After says. Yields each decision. */
function* runPool({ perMinute, perDay, workers, thinkMs, latenessMs, batchMax, seed }: Pool) {
  const subject = newKey(perMinute, perDay);
  const random = pseudoRandom(seed);
  const upTo = (max: number) => Math.floor(random() * (max + 1));
  const costMax = Math.min(batchMax, perMinute, perDay);
  const due = new Schedule();
  for (let i = 0; i < workers; i++) due.add(1_700_000_000_000 + upTo(1_000));
  let state: SubjectState | undefined;
  for (let i = 0; i < REQUESTS + 2 * workers; i++) {
    const nowMs = due.takeNext();
    const { state: after, decision } = checkState(state, subject, 1 + upTo(costMax - 1), nowMs);
    state = after;
    yield decision;
    const waitMs =
      decision.outcome === 'admitted' ? upTo(thinkMs) : decision.retryAfterSeconds * 1_000 + upTo(latenessMs);
    due.add(nowMs + waitMs);
  }
}

const pools = fc
  .tuple(
    limits,
    fc.record({
      workers: fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 2_000 })),
      thinkMs: fc.constantFrom(0, 1, 50, 500, 1_900),
      latenessMs: fc.constantFrom(0, 1, 300, 1_500, 20_000),
      batchMax: fc.constantFrom(1, 1, 1, 10),
      seed: fc.integer(),
    }),
  )
  .map(([limit, pool]) => ({ ...limit, ...pool }));

describe('workers that obey Retry-After', () => {
  test('are never banned, in pools of any size that begin together, whatever the plan', () => {
    const property = fc.property(pools, (pool) => {
      for (const { outcome } of runPool(pool)) if (outcome === 'api_key_banned') expect.fail('banned');
    });
    fc.assert(property, { numRuns: Math.ceil(PROPERTY_RUNS / 2) });
  });

  test('do not come back all at once: a second has room for those that it is promised to', () => {
    const promised = new Map<number, number>();
    const subject = newKey(60, 1_000_000);
    let state: SubjectState | undefined;
    for (let i = 0; i < 60 + 60; i++) {
      const { state: after, decision } = checkState(state, subject, 1, 1_700_000_000_000);
      state = after;
      if (decision.outcome === 'admitted') continue;
      promised.set(decision.retryAfterSeconds, (promised.get(decision.retryAfterSeconds) ?? 0) + 1);
    }
    expect(promised.size).toBe(60);
    expect(Math.max(...promised.values())).toBe(1);
  });
});

test('a caller that hammers at ten times its limit is banned within a minute', () => {
  for (const perMinute of [1, 5, 60, 300, 1_000]) {
    const subject = newKey(perMinute, 1_000_000);
    let state: SubjectState | undefined;
    let nowMs = 1_700_000_000_000;
    let outcome: string;
    do {
      const checked = checkState(state, subject, 1, Math.floor(nowMs));
      state = checked.state;
      outcome = checked.decision.outcome;
      nowMs += 6_000 / perMinute;
    } while (outcome !== 'api_key_banned' && nowMs < 1_700_000_060_000);
    expect(outcome).toBe('api_key_banned');
  }
});

/** Times, the earliest first: a binary heap. */
class Schedule {
  readonly #times: number[] = [];

  add(time: number): void {
    const times = this.#times;
    let i = times.push(time) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (this.#at(parent) <= this.#at(i)) return;
      this.#swap(i, parent);
      i = parent;
    }
  }

  takeNext(): number {
    const next = this.#at(0);
    const last = this.#times.pop() ?? Number.NaN;
    if (this.#times.length === 0) return next;
    this.#times[0] = last;
    let i = 0;
    for (;;) {
      const left = 2 * i + 1;
      const child = this.#at(left + 1) < this.#at(left) ? left + 1 : left;
      if (!(this.#at(child) < this.#at(i))) return next;
      this.#swap(i, child);
      i = child;
    }
  }

  #at(i: number): number {
    return this.#times[i] ?? Number.POSITIVE_INFINITY;
  }

  #swap(a: number, b: number): void {
    [this.#times[a], this.#times[b]] = [this.#at(b), this.#at(a)];
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
