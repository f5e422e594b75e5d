import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import type { State } from '../../src/algorithm.ts';
import type { RateLimiter } from '../../src/index.ts';
import {
  arrivals,
  checkState,
  hammer,
  limits,
  newAddress,
  newKey,
  PROPERTY_RUNS,
  startMs,
  traffic,
} from './traffic.ts';

const T0 = 1_700_000_000_000;
/** What is used now is freed with its second, and with its quarter of an hour. */
const MINUTE_RESET = T0 + 61_000;
const DAY_RESET = Math.floor(T0 / 900_000) * 900_000 + 86_400_000 + 900_000;

export interface LimiterUnderTest {
  readonly limiter: Pick<RateLimiter, 'check' | 'peek'>;
  /** Sets the clock that the limiter goes by. */
  setNow(nowMs: number): void;
  close?(): Promise<void>;
}

/** What every limiter promises, wherever it counts. */
export function describeLimiter(name: string, open: () => LimiterUnderTest): void {
  const opened = open();
  const { limiter, setNow } = opened;
  afterAll(() => opened.close?.());

  describe(`${name}, as any limiter,`, () => {
    test('returns the status after the request', async () => {
      setNow(T0);
      expect(await limiter.check(newKey(60, 1_000), 2)).toEqual({
        outcome: 'admitted',
        atMs: T0,
        minute: { limit: 60, used: 2, remaining: 58, resetAtMs: MINUTE_RESET },
        day: { limit: 1_000, used: 2, remaining: 998, resetAtMs: DAY_RESET },
      });
      expect(await limiter.check(newAddress(), 1)).toEqual({
        outcome: 'admitted',
        atMs: T0,
        minute: { limit: 60, used: 1, remaining: 59, resetAtMs: MINUTE_RESET },
        day: undefined,
      });
    });

    test('reads a status without cost, and without a refusal', async () => {
      setNow(T0);
      const subject = newKey(2, 1_000);
      expect(await limiter.peek(subject)).toMatchObject({ minute: { used: 0 }, day: { used: 0 } });
      await limiter.check(subject, 2);
      for (let i = 0; i < 10; i++) await limiter.peek(subject);
      expect(await limiter.peek(subject)).toEqual({
        atMs: T0,
        minute: { limit: 2, used: 2, remaining: 0, resetAtMs: MINUTE_RESET },
        day: { limit: 1_000, used: 2, remaining: 998, resetAtMs: DAY_RESET },
        refusals: 0,
        ban: undefined,
      });
    });

    test('bans a caller that goes on, and shows the ban', async () => {
      setNow(T0);
      const subject = newKey(2, 1_000);
      for (let i = 0; i < 3; i++) await limiter.check(subject, 1);
      expect((await limiter.peek(subject)).refusals).toBe(1);
      const ban = { outcome: 'banned', bannedUntilMs: T0 + 60_000, level: 1, retryAfterSeconds: 61 };
      expect(await hammer(limiter, subject)).toMatchObject({ ...ban, isNew: true });
      expect(await limiter.check(subject, 1)).toMatchObject({ ...ban, isNew: false });
      expect((await limiter.peek(subject)).ban).toEqual({ untilMs: T0 + 60_000, level: 1 });
    });

    test('admits exactly the limit of any number of requests at once', async () => {
      setNow(T0);
      const subjects = Array.from({ length: 5 }, () => newKey(100, 1_000));
      const requests = Array.from({ length: 1_000 }, (_, i) => subjects[i % 5] ?? expect.fail());
      const decisions = await Promise.all(requests.map((subject) => limiter.check(subject, 1)));
      const admitted = decisions.filter(({ outcome }) => outcome === 'admitted');
      expect(admitted.length).toBe(500);
      // Some serial order explains the decisions: each remaining number was returned once.
      const remaining = admitted.map((decision) => decision.minute.remaining).sort((a, b) => b - a);
      expect(remaining).toEqual(Array.from({ length: 500 }, (_, i) => 99 - Math.floor(i / 5)));
    });

    test('decides as the algorithm does, whatever is sent', async () => {
      const given = fc.tuple(limits, traffic({ stepsBack: true, changesPlan: true }), startMs, fc.boolean());
      const property = fc.asyncProperty(given, async ([{ perMinute, perDay }, requests, fromMs, isKey]) => {
        let state: State | undefined;
        const all = arrivals(isKey ? newKey(perMinute, perDay) : newAddress(), requests.slice(0, 40), fromMs);
        for (const { subject, cost, nowMs } of all) {
          setNow(nowMs);
          const step = checkState(state, subject, cost, nowMs);
          state = step.state;
          expect(await limiter.check(subject, cost)).toEqual(step.decision);
        }
      });
      await fc.assert(property, { numRuns: Math.ceil(PROPERTY_RUNS / 5) });
    });
  });
}
