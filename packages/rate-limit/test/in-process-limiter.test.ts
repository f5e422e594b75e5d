import { expect, test } from 'vitest';
import { canEverFit, InProcessLimiter } from '../src/index.ts';
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
