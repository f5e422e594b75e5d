import { expect, test } from 'vitest';
import { InProcessLimiter } from '../src/index.ts';
import { describeLimiter } from './limiter-contract.ts';
import { newAddress, newKey } from './traffic.ts';

describeLimiter('the limiter in the process', () => {
  let nowMs = 0;
  return {
    limiter: new InProcessLimiter({ nowMs: () => nowMs }),
    setNow: (ms) => {
      nowMs = ms;
    },
  };
});

test('at most 50,000 subjects are remembered, and a flood of addresses pushes out no key', () => {
  const limiter = new InProcessLimiter({ nowMs: () => 1_700_000_000_000 });
  const key = newKey(10, 10);
  limiter.check(key, 10);
  for (let i = 0; i < 60_000; i++) limiter.check(newAddress(), 1);
  expect(limiter.check(key, 1).outcome).toBe('rate_limit_exceeded');
  for (let i = 0; i < 60_000; i++) limiter.check(newKey(10, 10), 1);
  expect(limiter.size).toBe(50_000);
});
