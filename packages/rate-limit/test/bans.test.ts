import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { State } from '../src/algorithm.ts';
import type { RateLimitDecision, Subject } from '../src/index.ts';
import {
  arrivals,
  checkState,
  limits,
  newAddress,
  newKey,
  PROPERTY_RUNS,
  snapshotOf,
  startMs,
  traffic,
} from './support/traffic.ts';

const T0 = 1_700_000_000_000;
const SECOND = 1_000;
const MINUTE = 60_000;
const DAY = 86_400_000;

/** A subject with its own clock. */
class Caller {
  nowMs = T0;
  state: State | undefined;
  readonly subject: Subject;

  constructor(subject: Subject) {
    this.subject = subject;
  }

  call(times = 1): RateLimitDecision[] {
    return Array.from({ length: times }, () => {
      const { state, decision } = checkState(this.state, this.subject, 1, this.nowMs);
      this.state = state;
      return decision;
    });
  }

  /** Until a request would fit, as a refusal has told. */
  waitForRelease({ releaseAtMs }: { readonly releaseAtMs: number }): this {
    this.nowMs = releaseAtMs;
    return this;
  }

  wait(ms: number): this {
    this.nowMs += ms;
    return this;
  }

  get outcome(): RateLimitDecision['outcome'] {
    return this.call()[0]?.outcome ?? 'admitted';
  }

  /** Uses up the minute and hammers until it is banned. */
  earnBan(): RateLimitDecision {
    return this.call(this.subject.perMinute + REFUSALS_MAX + 1).at(-1) ?? expect.fail();
  }

  /** The refusals that count now. */
  get refusals(): number {
    return snapshotOf(this.state, this.subject, this.nowMs).refusals;
  }
}

/** How many refusals of a key with at most 125 requests a minute may count at once. */
const REFUSALS_MAX = 250;

const freeKey = () => new Caller(newKey(60, 1_000_000));

describe('a refusal', () => {
  test('counts until the time that it asks to come back, less 2 s and what spans of 10 s round off', () => {
    const caller = freeKey();
    caller.call(60);
    const { retryAfterSeconds } = asRefusal(caller.wait(30 * SECOND).call()[0]);
    expect(retryAfterSeconds).toBe(31);
    caller.wait((retryAfterSeconds - 2 - 10) * SECOND);
    expect(caller.refusals).toBe(1);
    caller.wait(10 * SECOND);
    expect(caller.refusals).toBe(0);
  });

  test('counts for a minute where it asks to come back later', () => {
    const caller = new Caller(newKey(5, 5));
    caller.call(6);
    caller.wait(MINUTE - 10 * SECOND);
    expect(caller.refusals).toBe(1);
    caller.wait(10 * SECOND);
    expect(caller.refusals).toBe(0);
  });

  test('never bans a client address', () => {
    const caller = new Caller(newAddress());
    caller.call(60);
    expect(new Set(caller.call(2_000).map(({ outcome }) => outcome))).toEqual(new Set(['refused']));
  });

  test('by a ban does not extend it', () => {
    const caller = freeKey();
    const ban = asBan(caller.earnBan());
    caller.wait(30 * SECOND);
    for (const decision of caller.call(1_000)) expect(asBan(decision).bannedUntilMs).toBe(ban.bannedUntilMs);
    expect(caller.waitForRelease(ban).outcome).toBe('admitted');
  });
});

describe('a ban', () => {
  test.each([
    { perMinute: 1, most: 250 },
    { perMinute: 126, most: 252 },
    { perMinute: 1_000, most: 2_000 },
  ])('of $perMinute a minute comes with one refusal more than $most at once', ({ perMinute, most }) => {
    const caller = new Caller(newKey(perMinute, 1_000_000));
    caller.call(perMinute);
    expect(caller.call(most + 1).map(({ outcome }) => outcome)).toEqual([
      ...Array.from({ length: most }, () => 'refused'),
      'banned',
    ]);
    expect(caller.refusals).toBe(0);
  });

  test('lasts 1, 5, 15 and then 60 minutes', () => {
    const caller = freeKey();
    const lengths = Array.from({ length: 6 }, () => {
      const ban = asBan(caller.earnBan());
      const lengthMs = ban.bannedUntilMs - caller.nowMs;
      caller.waitForRelease(ban);
      return lengthMs / MINUTE;
    });
    expect(lengths).toEqual([1, 5, 15, 60, 60, 60]);
  });

  test('is a first one again 24 h after the last ended', () => {
    const second = (waitMs: number) => {
      const caller = freeKey();
      caller.nowMs = asBan(caller.earnBan()).bannedUntilMs;
      caller.wait(waitMs);
      return asBan(caller.earnBan()).bannedUntilMs - caller.nowMs;
    };
    expect(second(DAY - 1)).toBe(5 * MINUTE);
    expect(second(DAY)).toBe(MINUTE);
  });

  test('that a clock set by an hour too far ahead began ends within its length once the clock is right', () => {
    const caller = freeKey();
    caller.wait(60 * MINUTE).earnBan();
    caller.wait(-60 * MINUTE);
    expect(caller.outcome).toBe('banned');
    caller.wait(MINUTE + SECOND);
    expect(caller.outcome).toBe('admitted');
  });

  test('asks to come back at its end, or when the windows have room again if that is later', () => {
    const early = freeKey();
    early.call(60);
    const atEnd = asBan(early.wait(10 * SECOND).earnBan());
    expect(atEnd).toMatchObject({ limitingWindow: 'minute', retryAfterSeconds: 60 });
    expect(atEnd.releaseAtMs).toBe(atEnd.bannedUntilMs);
    const atOnce = asBan(freeKey().earnBan()); // its units are held until their second is over
    expect(atOnce).toMatchObject({ releaseAtMs: T0 + 61 * SECOND, retryAfterSeconds: 61 });
    const caller = new Caller(newKey(5, 5));
    const day = asBan(caller.earnBan());
    const releaseAtMs = Math.floor(T0 / 900_000) * 900_000 + DAY + 900_000; // with the quarter of an hour in which they lie
    expect(day).toMatchObject({ limitingWindow: 'day', releaseAtMs });
    expect(day.retryAfterSeconds).toBe(Math.ceil((releaseAtMs - caller.nowMs) / SECOND));
  });

  test('never comes with fewer refusals in a minute, and always with an end', () => {
    let bans = 0;
    const given = fc.tuple(limits, traffic({ hammers: true }), startMs);
    const property = fc.property(given, ([{ perMinute, perDay }, requests, fromMs]) => {
      let state: State | undefined;
      let refusals: number[] = [];
      for (const { subject, cost, nowMs } of arrivals(newKey(perMinute, perDay), requests, fromMs)) {
        const before = state;
        const step = checkState(before, subject, cost, nowMs);
        state = step.state;
        if (step.decision.outcome === 'admitted') continue;
        if (before !== undefined && snapshotOf(before, subject, nowMs).ban !== undefined) continue;
        refusals = [...refusals.filter((atMs) => nowMs - atMs < MINUTE), nowMs];
        if (step.decision.outcome === 'refused') continue;
        bans += 1;
        expect(refusals.length).toBeGreaterThan(Math.max(2 * perMinute, REFUSALS_MAX));
        refusals = [];
        const { bannedUntilMs } = step.decision;
        const fits = snapshotOf(state, subject, bannedUntilMs);
        const hasRoom = cost <= Math.min(fits.minute.remaining, fits.day?.remaining ?? cost);
        expect(checkState(state, subject, cost, bannedUntilMs - 1).decision.outcome).toBe('banned');
        expect(checkState(state, subject, cost, bannedUntilMs).decision.outcome === 'admitted').toBe(hasRoom);
      }
    });
    fc.assert(property, { numRuns: Math.ceil(PROPERTY_RUNS / 2) });
    expect(bans).toBeGreaterThan(PROPERTY_RUNS / 20);
  });
});

function asBan(decision: RateLimitDecision | undefined) {
  if (decision?.outcome !== 'banned') expect.fail(`not banned but ${decision?.outcome}`);
  return decision;
}

function asRefusal(decision: RateLimitDecision | undefined) {
  if (decision?.outcome !== 'refused') expect.fail(`not refused but ${decision?.outcome}`);
  return decision;
}
