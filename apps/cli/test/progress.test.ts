import { expect, test } from 'vitest';
import { describeProgress } from '../src/progress.ts';

test.each([
  [undefined, 5_000, '1,000 read'],
  [0, 5_000, '░░░░░░░░░░░░░░░░░░░░   0 %  1,000 read'],
  [0.499, 999, '█████████░░░░░░░░░░░  49 %  1,000 read'],
  [0.5, 5_000, '██████████░░░░░░░░░░  50 %  1,000 read, 5 s left'],
  [0.25, 60_000, '█████░░░░░░░░░░░░░░░  25 %  1,000 read, 3 min left'],
  [1, 60_000, '████████████████████ 100 %  1,000 read, committing'],
])('%o of the way after %i ms', (fraction, elapsedMs, line) => {
  expect(describeProgress({ done: '1,000 read', fraction, elapsedMs })).toBe(line);
  expect(line.length).toBeLessThan(80);
});
