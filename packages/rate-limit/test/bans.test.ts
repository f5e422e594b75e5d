import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkState, type SubjectState, snapshotOf } from '../src/algorithm/subject-state.ts';
import type { RateLimitDecision, RateLimitSubject } from '../src/index.ts';
import { arrivals, limits, newAddress, newKey, PROPERTY_RUNS, startMs, traffic } from './support/traffic.ts';

const T0 = 1_700_000_000_000;
const SECOND = 1_000;
const MINUTE = 60_000;
const DAY = 86_400_000;

/** A subject with its own clock. */
class Caller {
  nowMs = T0;
  state: SubjectState | undefined;
  readonly subject: RateLimitSubject;

  constructor(subject: RateLimitSubject) {
    this.subject = subject;
  }

  call(times = 1): RateLimitDecision[] {
    return Array.from({ length: times }, () => {
      const { state, decision } = checkState(this.state, this.subject, 1, this.nowMs);
      this.state = state;
      return decision;
    });
  }

  wait(ms: number): this {
    this.nowMs += ms;
    return this;
  }

  get outcome(): RateLimitDecision['outcome'] {
    return this.call()[0]?.outcome ?? 'admitted';
  }

  /** Uses up the minute, is refused once, and hammers until it is banned. */
  earnBan(): RateLimitDecision {
    this.call(this.subject.perMinute + 1);
    this.wait(2_001);
    return this.call(this.subject.perMinute).at(-1) ?? expect.fail();
  }
}

const freeKey = () => new Caller(newKey(60, 1_000_000));

describe('a strike', () => {
  test('is a refusal more than 2 s after the first', () => {
    const caller = freeKey();
    caller.call(61);
    const strikes = () => snapshotOf(caller.state, caller.subject, caller.nowMs).strikes;
    caller.call(500);
    expect(strikes()).toBe(0);
    caller.wait(2_000).call(500);
    expect(strikes()).toBe(0);
    caller.wait(1).call(3);
    expect(strikes()).toBe(3);
  });

  test('is not forgotten for a request that is admitted in between', () => {
    const caller = freeKey();
    caller.call(1);
    caller.wait(30 * SECOND).call(60);
    caller.wait(10 * SECOND).call(29); // 29 strikes, 40 s after the first hit
    caller.wait(20 * SECOND);
    expect(caller.outcome).toBe('admitted'); // the first hit has left
    expect(
      caller
        .wait(1 * SECOND)
        .call(30)
        .every(({ outcome }) => outcome === 'rate_limit_exceeded'),
    ).toBe(true);
    expect(snapshotOf(caller.state, caller.subject, caller.nowMs).strikes).toBe(58);
  });

  test('is forgotten when its span of 60 s is over', () => {
    const caller = freeKey();
    caller.call(61);
    caller.wait(3 * SECOND).call(59);
    caller.wait(57 * SECOND).call(61); // a span of its own
    caller.wait(3 * SECOND).call(59);
    expect(caller.outcome).toBe('api_key_banned');
    expect(caller.nowMs).toBe(T0 + 63 * SECOND);
  });

  test('is never given to a client address', () => {
    const caller = new Caller(newAddress());
    caller.call(61);
    caller.wait(3 * SECOND);
    expect(new Set(caller.call(1_000).map(({ outcome }) => outcome))).toEqual(new Set(['rate_limit_exceeded']));
  });

  test('is not given for requests during a ban', () => {
    const caller = freeKey();
    const { bannedUntilMs } = asBan(caller.earnBan());
    caller.wait(30 * SECOND);
    for (const decision of caller.call(1_000)) expect(asBan(decision).bannedUntilMs).toBe(bannedUntilMs);
    caller.nowMs = bannedUntilMs;
    expect(caller.outcome).toBe('admitted');
  });
});

describe('a ban', () => {
  test('comes with the strike that makes as many as the plan allows requests a minute', () => {
    const caller = freeKey();
    caller.call(61);
    caller.wait(2_001);
    expect(caller.call(60).map(({ outcome }) => outcome)).toEqual([
      ...Array.from({ length: 59 }, () => 'rate_limit_exceeded'),
      'api_key_banned',
    ]);
  });

  test('lasts 1, 5, 15 and then 60 minutes', () => {
    const caller = freeKey();
    const lengths = Array.from({ length: 6 }, () => {
      const { bannedUntilMs } = asBan(caller.earnBan());
      const lengthMs = bannedUntilMs - caller.nowMs;
      caller.nowMs = bannedUntilMs;
      return lengthMs / MINUTE;
    });
    expect(lengths).toEqual([1, 5, 15, 60, 60, 60]);
  });

  test('is a first one again 24 h after the last ended', () => {
    const second = (waitMs: number) => {
      const caller = freeKey();
      caller.nowMs = asBan(caller.earnBan()).bannedUntilMs;
      caller.wait(waitMs - 2_001);
      return asBan(caller.earnBan()).bannedUntilMs - caller.nowMs;
    };
    expect(second(DAY - 1)).toBe(5 * MINUTE);
    expect(second(DAY)).toBe(MINUTE);
  });

  test('is over for the first request at its end, and not a millisecond before', () => {
    const caller = freeKey();
    const { bannedUntilMs } = asBan(caller.earnBan());
    caller.nowMs = bannedUntilMs - 1;
    expect(caller.outcome).toBe('api_key_banned');
    caller.nowMs = bannedUntilMs;
    expect(caller.outcome).toBe('admitted');
  });

  test('asks to come back at its end, or when the windows have room again if that is later', () => {
    const minute = asBan(freeKey().earnBan());
    expect(minute).toMatchObject({ limitingWindow: 'minute', retryAfterSeconds: 60 });
    expect(minute.releaseAtMs).toBe(minute.bannedUntilMs);
    const caller = new Caller(newKey(5, 5));
    const day = asBan(caller.earnBan());
    expect(day).toMatchObject({ limitingWindow: 'day', releaseAtMs: T0 + DAY });
    expect(day.retryAfterSeconds).toBe(Math.ceil((T0 + DAY - caller.nowMs) / SECOND));
  });

  test('never comes below the threshold, and always with an end', () => {
    const given = fc.tuple(limits, traffic(), startMs);
    const property = fc.property(given, ([{ perMinute, perDay }, requests, fromMs]) => {
      let state: SubjectState | undefined;
      let refusals: number[] = [];
      for (const { subject, cost, nowMs } of arrivals(newKey(perMinute, perDay), requests, fromMs)) {
        const before = state;
        const step = checkState(before, subject, cost, nowMs);
        state = step.state;
        if (step.decision.outcome === 'admitted') continue;
        if (before !== undefined && snapshotOf(before, subject, nowMs).ban !== undefined) continue;
        refusals = [...refusals.filter((atMs) => nowMs - atMs < MINUTE), nowMs];
        if (step.decision.outcome === 'rate_limit_exceeded') continue;
        expect(refusals.length).toBeGreaterThan(perMinute);
        const { bannedUntilMs } = step.decision;
        const fits = snapshotOf(state, subject, bannedUntilMs);
        const hasRoom = cost <= Math.min(fits.minute.remaining, fits.day?.remaining ?? cost);
        expect(checkState(state, subject, cost, bannedUntilMs - 1).decision.outcome).toBe('api_key_banned');
        expect(checkState(state, subject, cost, bannedUntilMs).decision.outcome === 'admitted').toBe(hasRoom);
      }
    });
    fc.assert(property, { numRuns: PROPERTY_RUNS * 2 });
  });
});

function asBan(decision: RateLimitDecision) {
  if (decision.outcome !== 'api_key_banned') expect.fail(`not banned but ${decision.outcome}`);
  return decision;
}
