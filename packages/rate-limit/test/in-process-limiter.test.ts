import { describe, expect, test } from 'vitest';
import { canEverFit, InProcessLimiter } from '../src/index.ts';
import { refusalsMaxOf } from '../src/subject.ts';
import { describeLimiter } from './support/limiter-contract.ts';
import { newAddress, newKey } from './support/traffic.ts';

describeLimiter('the limiter in the process', () => {
  let nowMs = 0;
  return {
    limiter: new InProcessLimiter({ nowMs: () => nowMs }),
    setNow: (ms) => {
      nowMs = ms;
    },
  };
});

test('at most 50,000 subjects are remembered, and a flood of addresses evicts no key', () => {
  const limiter = new InProcessLimiter({ nowMs: () => 1_700_000_000_000 });
  const [key, address] = [newKey(10, 10), newAddress()];
  limiter.check(address, 60);
  limiter.check(key, 10);
  const outcomeOf = (subject: typeof key | typeof address) => limiter.check(subject, 1).outcome;
  for (let i = 0; i < 9_999; i++) limiter.check(newAddress(), 1);
  expect(outcomeOf(address)).toBe('refused');
  for (let i = 0; i < 10_000; i++) limiter.check(newAddress(), 1);
  expect(outcomeOf(address)).toBe('admitted'); // evicted
  expect(outcomeOf(key)).toBe('refused');
  for (let i = 0; i < 40_000; i++) limiter.check(newKey(10, 10), 1);
  expect(outcomeOf(key)).toBe('admitted');
});

test.each([0, 1.5, Number.NaN, 6])('a cost of %d against a limit of 5 is refused at once', (cost) => {
  const limiter = new InProcessLimiter({ nowMs: Date.now });
  expect(() => limiter.check(newKey(5, 1_000), cost)).toThrow(RangeError);
  expect(() => limiter.check(newKey(1_000, 5), cost)).toThrow(RangeError);
});

test('a cost can fit when no limit is lower', () => {
  const known = { name: 'a key', perMinute: 60, perDay: 50 };
  expect([50, 51].map((cost) => canEverFit(known, cost))).toEqual([true, false]);
  const unknown = { name: 'an address', perMinute: 60, perDay: undefined };
  expect([60, 61].map((cost) => canEverFit(unknown, cost))).toEqual([true, false]);
});

describe('one of several instances', () => {
  const NOW_MS = 1_700_000_000_000;

  function open({ instances = 2, perMinute = 10, perDay = 100 } = {}) {
    const subject = newKey(perMinute, perDay);
    const limiter = new InProcessLimiter({ nowMs: () => NOW_MS, instances });
    return { subject, limiter, check: (cost: number) => limiter.check(subject, cost) };
  }

  test('admits and shows its share of each limit', async () => {
    const { subject, limiter, check } = open({ instances: 3, perMinute: 300, perDay: 60 });
    expect(check(1)).toMatchObject({ outcome: 'admitted', minute: { limit: 100 }, day: { limit: 20, remaining: 19 } });
    expect(check(19).outcome).toBe('admitted');
    expect(check(1)).toMatchObject({ outcome: 'refused', limitingWindow: 'day' });
    expect(await limiter.peek(subject)).toMatchObject({ minute: { remaining: 80 }, day: { remaining: 0 } });
    const address = newAddress();
    for (let i = 0; i < 20; i++) expect(limiter.check(address, 1).outcome).toBe('admitted');
    expect(limiter.lastKnown(address)).toMatchObject({ outcome: 'refused', minute: { limit: 20 } });
  });

  test('bans no pool that obeys: bans go by the whole limit', () => {
    const { check } = open({ instances: 4, perMinute: 300, perDay: 100_000 });
    const outcomes = Array.from({ length: 75 + 600 }, () => check(1).outcome);
    expect(outcomes.filter((outcome) => outcome === 'admitted')).toHaveLength(75);
    expect(outcomes.filter((outcome) => outcome === 'banned')).toEqual([]);
    expect(check(1).outcome).toBe('banned');
  });

  test.each([
    ['minute', { instances: 10, perMinute: 60, perDay: 1_000 }, 7],
    ['day', { instances: 10, perMinute: 1_000, perDay: 60 }, 7],
    ['minute', { instances: 1_000, perMinute: 60, perDay: 1_000 }, 2], // the share of each is 1
  ])(
    'asks a batch beyond its share to come back in a second, which never leads to a ban: %s',
    async (window, limits, cost) => {
      const { subject, limiter, check } = open(limits);
      for (let i = 0; i <= 2 * (refusalsMaxOf(subject) ?? 0); i++) {
        const told = { outcome: 'refused', limitingWindow: window, retryAtMs: NOW_MS + 1_000, retryAfterSeconds: 1 };
        expect(check(cost)).toMatchObject(told);
      }
      expect(await limiter.peek(subject)).toMatchObject({ refusals: 0, minute: { used: 0 }, day: { used: 0 } });
      expect(check(cost - 1).outcome, 'a share is at least one').toBe('admitted');
    },
  );

  test('refuses a batch beyond its share by a ban that is in force', () => {
    const { check } = open();
    for (let i = 0; i < 5 + 251; i++) check(1);
    expect(check(6)).toMatchObject({ outcome: 'banned', isNew: false, level: 1 });
  });
});
