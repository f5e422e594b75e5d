import { expect, test } from 'vitest';
import { canEverFit } from '../src/index.ts';

test('a cost can fit when no limit is lower', () => {
  const known = { name: 'a key', perMinute: 60, perDay: 50 };
  expect([50, 51].map((cost) => canEverFit(known, cost))).toEqual([true, false]);
  const unknown = { name: 'an address', perMinute: 60, perDay: undefined };
  expect([60, 61].map((cost) => canEverFit(unknown, cost))).toEqual([true, false]);
});
