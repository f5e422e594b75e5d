import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkState, debitState, raiseState, type SubjectState, snapshotOf } from '../src/algorithm/subject-state.ts';
import { SeenUse } from '../src/fallback/decision-memory.ts';
import type { RateLimitSubject } from '../src/index.ts';
import { arrivals, limits, newAddress, newKey, PROPERTY_RUNS, startMs, traffic } from './support/traffic.ts';

const T0 = 1_700_000_000_000;
const MINUTE = 60_000;
const DAY = 86_400_000;

/** A Redis that may forget, and a process that sees its replies. */
class Server {
  state: SubjectState | undefined;
  nowMs = T0;
  readonly seen = new SeenUse();

  /** @returns whether the reply shows a loss */
  check(subject: RateLimitSubject, cost = 1): boolean {
    const { state, decision } = checkState(this.state, subject, cost, this.nowMs);
    this.state = state;
    return this.seen.observe(decision, decision.outcome === 'admitted' ? cost : 0);
  }

  raise(subject: RateLimitSubject): void {
    this.state = raiseState(this.state, subject, this.seen.use, this.nowMs);
  }

  used(subject: RateLimitSubject) {
    return snapshotOf(this.state, subject, this.nowMs).used;
  }
}

describe('a loss is proved', () => {
  test('by a reply that shows less use than was seen, before the reset seen then', () => {
    const subject = newKey(60, 1_000);
    const server = new Server();
    for (let i = 0; i < 60; i++) expect(server.check(subject)).toBe(false);
    server.state = undefined;
    server.nowMs += MINUTE - 1;
    expect(server.check(subject)).toBe(true);
    expect(server.seen.use).toEqual({ minute: 61, day: 61 });
  });

  test('of a single unit, by a reply that shows the unit of its own request', () => {
    const subject = newKey(60, 1_000);
    const server = new Server();
    server.check(subject);
    server.state = undefined;
    expect(server.check(subject)).toBe(true);
    expect(server.seen.use).toEqual({ minute: 2, day: 2 });
  });

  test('in the day alone, after the minute is over', () => {
    const subject = newKey(60, 1_000);
    const server = new Server();
    for (let i = 0; i < 60; i++) server.check(subject);
    server.state = undefined;
    server.nowMs += DAY - 1;
    expect(server.check(subject)).toBe(true);
    expect(server.seen.use).toEqual({ minute: 1, day: 61 });
    server.raise(subject);
    expect(server.used(subject)).toEqual({ minute: 1, day: 61 });
  });

  test('by less than what was in the minute, when a day that never rests has freed units since', () => {
    const subject = newKey(60, 100_000);
    const server = new Server();
    for (let i = 0; i < 30 * 60; i++) {
      expect(server.check(subject)).toBe(false);
      server.nowMs += MINUTE;
    }
    for (let i = 0; i < 50; i++) server.check(subject);
    server.state = undefined;
    server.nowMs += 30 * MINUTE; // past the reset of the day
    expect(server.check(subject)).toBe(true);
    expect(server.seen.use).toEqual({ minute: 1, day: 51 });
  });

  test('by a request that was admitted, whatever the limit was lowered to', () => {
    const subject = newKey(60, 1_000);
    const server = new Server();
    for (let i = 0; i < 50; i++) server.check(subject);
    server.state = undefined;
    expect(server.check({ ...subject, perMinute: 10 }, 10)).toBe(true);
    expect(server.seen.use.minute).toBe(60);
  });

  test('again by every reply until it is mended, and counts what is admitted meanwhile', () => {
    const subject = newKey(60, 1_000);
    const server = new Server();
    for (let i = 0; i < 40; i++) server.check(subject);
    server.state = undefined;
    for (let i = 1; i <= 5; i++) {
      expect(server.check(subject)).toBe(true);
      expect(server.seen.use.minute).toBe(40 + i);
    }
    server.raise(subject);
    expect(server.used(subject)).toEqual({ minute: 45, day: 45 });
    expect(server.check(subject)).toBe(false);
  });
});

describe('no loss is proved', () => {
  test('by a limit that was lowered below the use, nor when it is raised again', () => {
    const subject = newKey(60, 1_000);
    const server = new Server();
    for (let i = 0; i < 50; i++) server.check(subject);
    for (let i = 0; i < 5; i++) expect(server.check({ ...subject, perMinute: 10 })).toBe(false);
    expect(server.check(subject)).toBe(false);
    expect(server.seen.use.minute).toBe(51);
  });

  test('by a clock that steps back by more than a minute, which drops the minute', () => {
    const subject = newKey(60, 1_000);
    const server = new Server();
    for (let i = 0; i < 50; i++) server.check(subject);
    server.nowMs -= MINUTE + 1;
    expect(server.check(subject)).toBe(false);
    expect(server.seen.use).toEqual({ minute: 1, day: 51 });
  });

  // Steps back of the clock may look like a loss: docs/decisions/0051 says when.
  test('as long as nothing is lost, whatever one process sends', () => {
    const given = fc.tuple(limits, traffic({ changesPlan: true, hammers: true }), startMs, fc.boolean());
    let replies = 0;
    const property = fc.property(given, ([{ perMinute, perDay }, requests, fromMs, isKey]) => {
      const server = new Server();
      for (const { subject, cost, nowMs } of arrivals(
        isKey ? newKey(perMinute, perDay) : newAddress(),
        requests,
        fromMs,
      )) {
        server.nowMs = nowMs;
        if (server.check(subject, cost)) expect.fail('a loss');
        replies += 1;
      }
    });
    fc.assert(property, { numRuns: PROPERTY_RUNS, endOnFailure: true });
    expect(replies).toBeGreaterThan(PROPERTY_RUNS * 50);
  });

  test('as long as nothing is lost, whatever several processes send and debit', () => {
    const given = fc.tuple(
      limits,
      traffic({ changesPlan: true, hammers: true }),
      startMs,
      fc.infiniteStream(fc.nat(11)),
    );
    const property = fc.property(given, ([{ perMinute, perDay }, requests, fromMs, choices]) => {
      const processes = [new SeenUse(), new SeenUse(), new SeenUse()] as const;
      let state: SubjectState | undefined;
      for (const { subject, cost, nowMs } of arrivals(newKey(perMinute, perDay), requests, fromMs)) {
        const [choice = 0] = choices.take(1);
        const process = processes[choice % 3] ?? expect.fail();
        if (choice > 9) {
          const use = { minute: cost, day: cost * 3 };
          state = debitState(state, subject, use, nowMs);
          process.add(use, nowMs);
        } else if (choice > 8) {
          if (process.observe(snapshotOf(state, subject, nowMs), 0)) expect.fail('a loss');
        } else {
          const { state: next, decision } = checkState(state, subject, cost, nowMs);
          state = next;
          if (process.observe(decision, decision.outcome === 'admitted' ? cost : 0)) expect.fail('a loss');
        }
        const { used } = snapshotOf(state, subject, nowMs);
        const { use } = process;
        if (use.minute > used.minute || use.day > (used.day ?? 0)) expect(use).toEqual(used);
      }
    });
    fc.assert(property, { numRuns: PROPERTY_RUNS, endOnFailure: true });
  });
});
