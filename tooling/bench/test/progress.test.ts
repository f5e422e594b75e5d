import { PassThrough } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { formatDuration, Progress, restOf } from '../src/progress.ts';

const PARTS = [
  { name: 'a', plannedSeconds: 10 },
  { name: 'b', plannedSeconds: 20 },
  { name: 'c', plannedSeconds: 30 },
];

// The time that a test takes would be shown.
beforeEach(() => vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] }));
afterEach(() => vi.useRealTimers());

it('the rest is what the current part has left and all behind it', () => {
  expect(restOf(PARTS, 0, 4)).toBe(56);
  expect(restOf(PARTS, 1, 5)).toBe(45);
});

it('a part that takes longer than planned takes nothing from the others', () => {
  expect(restOf(PARTS, 1, 100)).toBe(30);
});

it('durations are shown in minutes from one on', () => {
  expect(formatDuration(59.4)).toBe('59 s');
  expect(formatDuration(125)).toBe('2 min 5 s');
});

function outputOf(isTTY: boolean) {
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 40 });
  return { stream: stream as unknown as WriteStream, text: () => String(stream.read() ?? '') }; // all of a terminal that is used
}

it('each step is a line of its own where no terminal is', () => {
  const { stream, text } = outputOf(false);
  using progress = new Progress(PARTS, stream);
  progress.begin('b');
  progress.step('round 1 of 3, service');
  expect(text().split('\n')).toEqual([
    '[2/3] b: preparing (0 s, about 50 s left)',
    '[2/3] b: round 1 of 3, service (0 s, about 50 s left)',
    '',
  ]);
});

it('on a terminal one line is written over, no wider than it, and gone at the end', () => {
  const { stream, text } = outputOf(true);
  const progress = new Progress(PARTS, stream);
  progress.begin('c');
  progress.step('round 1 of 3, service');
  progress.clear();
  const written = text();
  expect(written).not.toContain('\n');
  expect(written.endsWith('\r\x1b[K')).toBe(true);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the terminal's own "clear to the end of the line"
  for (const line of written.split(/\r|\x1b\[K/)) expect(line.length).toBeLessThan(40);
});
