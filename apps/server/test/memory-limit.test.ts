import { expect, test } from 'vitest';
import { warnOfMemoryLimit } from '../src/operations/memory-limit.ts';

const MEBIBYTE = 2 ** 20;

function warningsOf(limitMiB: number, heapLimitMiB: number): readonly unknown[] {
  const messages: unknown[] = [];
  const logger = { warn: (_: unknown, message?: string) => void messages.push(message) };
  warnOfMemoryLimit(logger, limitMiB * MEBIBYTE, heapLimitMiB * MEBIBYTE);
  return messages;
}

test.each([0, 2 ** 44, 1_024])('with a memory limit of %i MiB nothing is said', (limitMiB) => {
  expect(warningsOf(limitMiB, 512)).toEqual([]);
});

test('a limit that is too small for the service is named, with what it needs', () => {
  expect(warningsOf(128, 64)).toEqual([expect.stringMatching(/ends this process at 128 MiB; allow 256 MiB or more/)]);
});

test('a heap that may outgrow the limit is named, with what to leave out', () => {
  expect(warningsOf(512, 4_096)).toEqual([
    expect.stringMatching(/\(4096 MiB\) than the system .*--max-old-space-size/),
  ]);
});
