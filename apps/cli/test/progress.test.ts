import { expect, onTestFinished, test, vi } from 'vitest';
import { Progress } from '../src/progress.ts';

function startProgress() {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const shown: unknown[] = [];
  const progress = new Progress({ progress: (text, options) => shown.push([text, options?.isDue ?? false]) }, 'read');
  return { progress, shown };
}

test.each([
  [undefined, 5_000, '1,000 read'],
  [0, 5_000, '░░░░░░░░░░░░░░░░░░░░   0 %  1,000 read'],
  [0.499, 999, '█████████░░░░░░░░░░░  49 %  1,000 read'],
  [0.5, 5_000, '██████████░░░░░░░░░░  50 %  1,000 read, 5 s left'],
  [0.25, 60_000, '█████░░░░░░░░░░░░░░░  25 %  1,000 read, 3 min left'],
  [1, 60_000, '████████████████████ 100 %  1,000 read'],
])('%o of the way after %i ms', (fraction, elapsedMs, line) => {
  const { progress, shown } = startProgress();
  vi.advanceTimersByTime(60_000); // until there is a database
  progress.advance(0, fraction && 0);
  vi.advanceTimersByTime(elapsedMs);
  progress.advance(1_000, fraction);
  expect(shown.at(-1)).toEqual([line, false]);
  expect(line.length).toBeLessThan(80);
});

test('what is waited for at the end is shown at once, with all of the bar', () => {
  const { progress, shown } = startProgress();
  progress.advance(9_000, 0.96);
  progress.awaits('committing');
  expect(shown).toEqual([
    ['███████████████████░  96 %  9,000 read', false],
    ['████████████████████ 100 %  9,000 read, committing', true],
  ]);
});
