import { expect, test } from 'vitest';
import { DecisionMemory } from '../src/fallback/decision-memory.ts';
import { LocalFallback } from '../src/fallback/local-fallback.ts';
import { newKey } from './support/traffic.ts';

const T0 = 1_700_000_000_000;

test('what turns out later to have been admitted here alone is debited by the time at which it was', () => {
  let nowMs = T0;
  const fallback = new LocalFallback({ instances: 1, nowMs: () => nowMs, memory: new DecisionMemory(() => nowMs) });
  const subject = newKey(60, 1_000);
  fallback.decide(subject, 5);
  expect(fallback.hasUnsyncedUsage).toBe(false);
  nowMs += 59_999;
  fallback.record(subject, { minute: 3, day: 3 }, T0);
  nowMs += 1; // the first five have left the minute
  fallback.record(subject, { minute: 2, day: 2 }, T0);
  expect(fallback.drain(subject)).toEqual({ use: { minute: 3, day: 5 }, ban: undefined });
  expect(fallback.hasUnsyncedUsage).toBe(false);
});
