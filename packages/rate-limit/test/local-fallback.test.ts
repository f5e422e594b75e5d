import { expect, test } from 'vitest';
import { DecisionMemory } from '../src/fallback/decision-memory.ts';
import { LocalFallback } from '../src/fallback/local-fallback.ts';
import { newKey } from './support/traffic.ts';

const T0 = 1_700_000_000_000;

test('what Redis has counted after all is not debited, and takes nothing off what was admitted later', () => {
  let nowMs = T0;
  const fallback = new LocalFallback({ instances: 1, nowMs: () => nowMs, memory: new DecisionMemory(() => nowMs) });
  const subject = newKey(60, 1_000);
  fallback.check(subject, 5);
  fallback.discount(subject, 3, T0);
  nowMs += 60_000; // the first five have left the minute
  fallback.check(subject, 4);
  expect(fallback.drain(subject)).toEqual({ use: { minute: 4, day: 6 }, ban: undefined });
  expect(fallback.hasUnsyncedUsage).toBe(false);
});
