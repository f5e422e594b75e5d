import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkState, debitState, type SubjectState, snapshotOf } from '../src/algorithm/subject-state.ts';
import type { RateLimitDecision } from '../src/index.ts';
import { encodeState } from './support/encode-state.ts';
import { ExactLog } from './support/exact-log.ts';
import {
  type Arrival,
  arrivals,
  limits,
  newAddress,
  newKey,
  PROPERTY_RUNS,
  startMs,
  traffic,
} from './support/traffic.ts';

// As they are promised, whatever the source says: how long a window is, and how long a freed unit may be held back.
const MINUTE = { lengthMs: 60_000, heldBackMs: 1_000 } as const;
const DAY = { lengthMs: 86_400_000, heldBackMs: 300_000 } as const;

interface Seen extends Arrival {
  readonly before: SubjectState | undefined;
  readonly after: SubjectState;
  readonly decision: RateLimitDecision;
}

/** Runs traffic through the algorithm and shows each step. */
function* run(requests: Iterable<Arrival>): Generator<Seen> {
  let state: SubjectState | undefined;
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
  fc.assert(property, { numRuns: PROPERTY_RUNS });
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
      if (decision.outcome === 'admitted' || decision.outcome === 'api_key_banned') return;
      const { limitingWindow } = decision;
      const window = limitingWindow === 'minute' ? MINUTE : DAY;
      const limit = limitingWindow === 'minute' ? subject.perMinute : (subject.perDay ?? 0);
      expect(log.sum(nowMs, window.lengthMs + window.heldBackMs) + cost).toBeGreaterThan(limit);
    });
  });
});

test.each([
  { name: 'minute', subject: newKey(2, 1_000), ...MINUTE },
  { name: 'day', subject: newKey(1_000, 2), ...DAY },
])('a unit of the $name is held back for less than $heldBackMs ms', ({ subject, lengthMs, heldBackMs }) => {
  const T0 = 1_700_000_000_000;
  /** A request when the first of two leaves the window, the second being so much younger. */
  const third = (gapMs: number) => {
    const { state } = checkState(undefined, subject, 1, T0);
    return checkState(checkState(state, subject, 1, T0 + gapMs).state, subject, 1, T0 + lengthMs).decision;
  };
  expect(third(heldBackMs - 1)).toMatchObject({ releaseAtMs: T0 + lengthMs + heldBackMs - 1 });
  expect(third(heldBackMs)).toMatchObject({ outcome: 'admitted' });
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

  test('is that of the window which releases last', () => {
    const limited = (dayAgoMs: number): RateLimitDecision => {
      const subject = newKey(1, 2);
      const nowMs = 1_700_000_000_000;
      const { state } = checkState(undefined, subject, 1, nowMs - DAY.lengthMs + dayAgoMs);
      return checkState(checkState(state, subject, 1, nowMs - 1).state, subject, 1, nowMs).decision;
    };
    const minuteReleaseMs = 59_999;
    expect(limited(minuteReleaseMs - 1)).toMatchObject({ limitingWindow: 'minute', day: { remaining: 0 } });
    expect(limited(minuteReleaseMs)).toMatchObject({ limitingWindow: 'day', minute: { remaining: 0 } });
    expect(limited(minuteReleaseMs + 1)).toMatchObject({ limitingWindow: 'day', minute: { remaining: 0 } });
  });

  test('of a refusal by the minute is followed by its slot, in a queue of requests W/L apart, a minute long at most', () => {
    const property = fc.property(anyTraffic({ hammers: true }), (requests) => {
      let queueEndMs = 0;
      for (const { decision, subject, nowMs } of run(requests)) {
        if (decision.outcome !== 'rate_limit_exceeded' || decision.limitingWindow === 'day') continue;
        const { releaseAtMs, retryAtMs, retryAfterSeconds } = decision;
        expect(retryAfterSeconds).toBe(Math.ceil((retryAtMs - nowMs) / 1_000));
        expect(retryAtMs).toBeGreaterThanOrEqual(releaseAtMs);
        expect(retryAtMs).toBeLessThanOrEqual(releaseAtMs + 60_000);
        // The end of the queue is rounded up, by a millisecond at most.
        const apartMs = 60_000 / subject.perMinute + 1;
        expect(retryAtMs).toBeLessThanOrEqual(Math.max(releaseAtMs, queueEndMs + apartMs));
        queueEndMs = Math.max(releaseAtMs, queueEndMs + apartMs);
      }
    });
    fc.assert(property, { numRuns: PROPERTY_RUNS });
  });
});

test('exactly `remaining` more fit now, and one more does not', () => {
  forAll(anyTraffic({ changesPlan: true, stepsBack: true }), ({ decision, after, subject, nowMs }) => {
    if (decision.outcome === 'api_key_banned') return;
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
    const used = snapshotOf(before, subject, nowMs).used;
    const charged = decision.outcome === 'admitted' ? cost : 0;
    expect(snapshotOf(after, subject, nowMs).used).toEqual({
      minute: used.minute + charged,
      day: used.day === undefined ? undefined : used.day + charged,
    });
  });
});

describe('a state', () => {
  const HEADER_BYTES = 60;
  const entriesMax = ({ lengthMs, heldBackMs }: typeof MINUTE | typeof DAY) => lengthMs / heldBackMs + 1;
  const BYTES_MAX = HEADER_BYTES + 8 * (entriesMax(MINUTE) + entriesMax(DAY));

  test('takes at most 60 bytes and 8 for each entry that its windows can hold', () => {
    forAll(anyTraffic({ changesPlan: true, stepsBack: true }), ({ after }) => {
      expect(encodeState(after).length).toBeLessThanOrEqual(BYTES_MAX);
    });
  });

  test('reaches that bound under traffic that never ends, and does not pass it', () => {
    const subject = newKey(1_000_000_000, 1_000_000_000);
    let state: SubjectState | undefined;
    let most = 0;
    const bytes = (nowMs: number) => {
      state = checkState(state, subject, 1, nowMs).state;
      most = Math.max(most, encodeState(state).length);
    };
    for (let i = 0; i < 600; i++) bytes(1_700_000_000_000 + i * 300_000);
    for (let i = 0; i < 200; i++) bytes(1_700_000_000_000 + 600 * 300_000 + i * 1_000);
    expect(most).toBeGreaterThan(BYTES_MAX - 8 * 3 - 33);
    expect(most).toBeLessThanOrEqual(BYTES_MAX);
  });

  test('is logged to without a decision by a debit, which may pass the limit', () => {
    const subject = newKey(10, 20);
    const state = debitState(undefined, subject, { minute: 15, day: 30 }, 1_700_000_000_000);
    const { minute, day, used } = snapshotOf(state, subject, 1_700_000_000_000);
    expect({ minute, day, used }).toMatchObject({
      minute: { remaining: 0 },
      day: { remaining: 0 },
      used: { minute: 15, day: 30 },
    });
    expect(checkState(state, subject, 1, 1_700_000_060_000).decision).toMatchObject({ limitingWindow: 'day' });
  });
});

describe('a clock that steps back', () => {
  test('by up to 60 s frees nothing and takes nothing', () => {
    const given = fc.tuple(anyTraffic(), fc.integer({ min: 0, max: 60_000 }));
    const property = fc.property(given, ([requests, backMs]) => {
      for (const { after, subject } of run(requests)) {
        const snapshot = snapshotOf(after, subject, after.atMs - backMs);
        expect(snapshot.used).toEqual(snapshotOf(after, subject, after.atMs).used);
      }
    });
    fc.assert(property, { numRuns: PROPERTY_RUNS });
  });

  test('further drops the minute and keeps the day', () => {
    const given = fc.tuple(anyTraffic(), fc.integer({ min: 60_001, max: 10 ** 10 }));
    const property = fc.property(given, ([requests, backMs]) => {
      for (const { after, subject } of run(requests)) {
        const { used } = snapshotOf(after, subject, after.atMs - backMs);
        expect(used.minute).toBe(0);
        expect(used.day).toBe(snapshotOf(after, subject, after.atMs).used.day);
      }
    });
    fc.assert(property, { numRuns: PROPERTY_RUNS });
  });

  test('never locks a caller out: after a day and the longest ban everything is admitted', () => {
    forAll(anyTraffic({ stepsBack: true }), ({ after, subject, nowMs, cost }) => {
      const laterMs = nowMs + DAY.lengthMs + 3_600_000 + 60_000;
      expect(checkState(after, subject, cost, laterMs).decision.outcome).toBe('admitted');
    });
  });

  test('leaves within a minute of standing still what the minute holds', () => {
    forAll(anyTraffic({ stepsBack: true }), ({ after, subject, nowMs }) => {
      expect(snapshotOf(after, subject, nowMs + 120_000).used.minute).toBe(0);
    });
  });
});
