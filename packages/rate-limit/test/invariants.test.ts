import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { State } from '../src/algorithm.ts';
import type { RateLimitDecision } from '../src/index.ts';
import {
  type Arrival,
  arrivals,
  checkState,
  limits,
  newAddress,
  newKey,
  PROPERTY_RUNS,
  snapshotOf,
  startMs,
  traffic,
  usedOf,
} from './support/traffic.ts';

/** What the algorithm is measured by: every single hit, kept for ever. */
class ExactLog {
  readonly #hits: { readonly atMs: number; readonly cost: number }[] = [];

  add(atMs: number, cost: number): void {
    this.#hits.push({ atMs, cost });
  }

  /** The cost in `(toMs - lengthMs, toMs]`. */
  sum(toMs: number, lengthMs: number): number {
    let sum = 0;
    for (let i = this.#hits.length - 1; i >= 0; i--) {
      const hit = this.#hits[i];
      if (hit !== undefined && hit.atMs > toMs - lengthMs && hit.atMs <= toMs) sum += hit.cost;
    }
    return sum;
  }
}

// As they are promised, whatever the source says: how long a window is, and how long a freed unit may be held back.
const MINUTE = { lengthMs: 60_000, heldBackMs: 1_000 } as const;
const DAY = { lengthMs: 86_400_000, heldBackMs: 900_000 } as const;

/** Each run looks at hundreds of requests. */
const RUNS = Math.ceil(PROPERTY_RUNS / 3);

interface Seen extends Arrival {
  readonly before: State | undefined;
  readonly after: State;
  readonly decision: RateLimitDecision;
}

/** Runs traffic through the algorithm and shows each step. */
function* run(requests: Iterable<Arrival>): Generator<Seen> {
  let state: State | undefined;
  for (const arrival of requests) {
    const before = state;
    const { state: after, decision } = checkState(before, arrival.subject, arrival.cost, arrival.nowMs);
    state = after;
    yield { ...arrival, before, after, decision };
  }
}

const anyTraffic = (options?: Parameters<typeof traffic>[0]) =>
  fc
    .tuple(limits, traffic(options), startMs, fc.boolean())
    .map(([{ perMinute, perDay }, requests, fromMs, isKey]) => [
      ...arrivals(isKey ? newKey(perMinute, perDay) : newAddress(), requests, fromMs),
    ]);

function forAll(given: fc.Arbitrary<Arrival[]>, promise: (seen: Seen, log: ExactLog) => void): void {
  const property = fc.property(given, (requests) => {
    const log = new ExactLog();
    for (const seen of run(requests)) {
      promise(seen, log);
      if (seen.decision.outcome === 'admitted') log.add(seen.nowMs, seen.cost);
    }
  });
  fc.assert(property, { numRuns: RUNS });
}

describe('in any window', () => {
  test('the admitted cost is at most the limit', () => {
    forAll(anyTraffic({ changesPlan: true }), ({ decision, subject, nowMs, cost }, log) => {
      if (decision.outcome !== 'admitted') return;
      expect(log.sum(nowMs, MINUTE.lengthMs) + cost).toBeLessThanOrEqual(subject.perMinute);
      if (subject.perDay === undefined) return;
      expect(log.sum(nowMs, DAY.lengthMs) + cost).toBeLessThanOrEqual(subject.perDay);
    });
  });

  test('a request is only refused when a window, longer by what may be held back, has no room for it', () => {
    forAll(anyTraffic({ changesPlan: true }), ({ decision, subject, nowMs, cost }, log) => {
      if (decision.outcome === 'admitted' || decision.outcome === 'banned') return;
      const { limitingWindow } = decision;
      const window = limitingWindow === 'minute' ? MINUTE : DAY;
      const limit = limitingWindow === 'minute' ? subject.perMinute : (subject.perDay ?? 0);
      expect(log.sum(nowMs, window.lengthMs + window.heldBackMs) + cost).toBeGreaterThan(limit);
    });
  });
});

test.each([
  { name: 'minute', subject: newKey(1, 1_000), ...MINUTE },
  { name: 'day', subject: newKey(1_000, 1), ...DAY },
])('a unit of the $name is held back for at most $heldBackMs ms, until its bucket is over', (given) => {
  const { subject, lengthMs, heldBackMs } = given;
  const bucketStartMs = Math.floor(1_700_000_000_000 / heldBackMs) * heldBackMs;
  for (const atMs of [bucketStartMs, bucketStartMs + heldBackMs - 1]) {
    const { state } = checkState(undefined, subject, 1, atMs);
    expect(checkState(state, subject, 1, atMs).decision).toMatchObject({
      releaseAtMs: bucketStartMs + heldBackMs + lengthMs,
    });
  }
});

describe('the announced release', () => {
  test('is the first moment at which the request fits, if nothing else comes, whatever became of the plan', () => {
    forAll(anyTraffic({ changesPlan: true }), ({ decision, after, subject, cost }) => {
      if (decision.outcome === 'admitted') return;
      const at = (nowMs: number) => checkState(after, subject, cost, nowMs).decision.outcome;
      expect(at(decision.releaseAtMs - 1)).not.toBe('admitted');
      expect(at(decision.releaseAtMs)).toBe('admitted');
    });
  });

  test('is never after Retry-After, which is a whole number of seconds, at least 1', () => {
    forAll(anyTraffic({ changesPlan: true, stepsBack: true }), ({ decision, nowMs }) => {
      if (decision.outcome === 'admitted') return;
      expect(decision.retryAfterSeconds).toBeGreaterThanOrEqual(1);
      expect(Number.isInteger(decision.retryAfterSeconds)).toBe(true);
      expect(nowMs + decision.retryAfterSeconds * 1000).toBeGreaterThanOrEqual(decision.releaseAtMs);
      expect(decision.releaseAtMs).toBeGreaterThan(nowMs);
    });
  });

  test('is that of the window which releases last; of two that release together, the day', () => {
    const dayReleaseMs = 1_700_000_100_000; // the end of a quarter of an hour
    const subject = newKey(1, 2);
    /** Both windows are used up; the minute is released so long after the day. */
    const limitedBy = (afterMs: number): RateLimitDecision => {
      const { state } = checkState(undefined, subject, 1, dayReleaseMs - DAY.lengthMs - DAY.heldBackMs);
      const minuteUsedMs = dayReleaseMs - MINUTE.lengthMs - MINUTE.heldBackMs + afterMs;
      const used = checkState(state, subject, 1, minuteUsedMs).state;
      return checkState(used, subject, 1, minuteUsedMs).decision;
    };
    expect(limitedBy(-1_000)).toMatchObject({ limitingWindow: 'day', releaseAtMs: dayReleaseMs });
    expect(limitedBy(0)).toMatchObject({ limitingWindow: 'day', releaseAtMs: dayReleaseMs });
    expect(limitedBy(1_000)).toMatchObject({ limitingWindow: 'minute', releaseAtMs: dayReleaseMs + 1_000 });
  });
});

test('exactly `remaining` more fit now, and one more does not', () => {
  forAll(anyTraffic({ changesPlan: true, stepsBack: true }), ({ decision, after, subject, nowMs }) => {
    if (decision.outcome === 'banned') return;
    const { minute, day } = decision;
    const remaining = Math.min(minute.remaining, day?.remaining ?? minute.remaining);
    const most = Math.min(subject.perMinute, subject.perDay ?? subject.perMinute);
    const fits = (cost: number) => checkState(after, subject, cost, nowMs).decision.outcome === 'admitted';
    if (remaining > 0) expect(fits(remaining)).toBe(true);
    if (remaining < most) expect(fits(remaining + 1)).toBe(false);
  });
});

test('the announced reset is when `remaining` next grows', () => {
  forAll(anyTraffic({ changesPlan: true }), ({ decision, after, subject, nowMs }) => {
    for (const name of ['minute', 'day'] as const) {
      const window = decision[name];
      if (window === undefined || window.resetAtMs === nowMs) continue;
      const at = (ms: number) => snapshotOf(after, subject, ms)[name]?.remaining;
      expect(at(window.resetAtMs - 1)).toBe(window.remaining);
      expect(at(window.resetAtMs)).toBeGreaterThan(window.remaining);
    }
  });
});

test('a request counts in both windows or in none', () => {
  forAll(anyTraffic({ changesPlan: true }), ({ decision, before, after, subject, cost, nowMs }) => {
    const used = usedOf(snapshotOf(before, subject, nowMs));
    const charged = decision.outcome === 'admitted' ? cost : 0;
    expect(usedOf(snapshotOf(after, subject, nowMs))).toEqual({
      minute: used.minute + charged,
      day: used.day === undefined ? undefined : used.day + charged,
    });
  });
});

describe('a clock that steps back', () => {
  test('frees nothing and takes nothing', () => {
    const given = fc.tuple(anyTraffic(), fc.integer({ min: 0, max: 10 ** 10 }));
    const property = fc.property(given, ([requests, backMs]) => {
      for (const { after, subject, nowMs } of run(requests)) {
        expect(usedOf(snapshotOf(after, subject, nowMs - backMs))).toEqual(usedOf(snapshotOf(after, subject, nowMs)));
      }
    });
    fc.assert(property, { numRuns: RUNS });
  });

  test('never locks a caller out: the minute is free after one, and everything after a day and the longest ban', () => {
    forAll(anyTraffic({ stepsBack: true }), ({ after, subject, nowMs, cost }) => {
      const minuteLaterMs = nowMs + MINUTE.lengthMs + MINUTE.heldBackMs;
      expect(snapshotOf(after, subject, minuteLaterMs).minute.used).toBe(0);
      const dayLaterMs = nowMs + DAY.lengthMs + DAY.heldBackMs + 3_600_000;
      expect(checkState(after, subject, cost, dayLaterMs).decision.outcome).toBe('admitted');
    });
  });

  test('after it was an hour ahead admits the limit twice, and not three times', () => {
    const T0 = 1_700_000_000_000;
    const subject = newKey(60, 1_000);
    let state: State | undefined;
    const admittedAt = (nowMs: number): number => {
      let admitted = 0;
      for (let i = 0; i < 70; i++) {
        const step = checkState(state, subject, 1, nowMs);
        state = step.state;
        if (step.decision.outcome === 'admitted') admitted++;
      }
      return admitted;
    };
    expect([T0, T0 + 3_600_000, T0 + 1_000].map(admittedAt)).toEqual([60, 60, 0]);
  });
});
