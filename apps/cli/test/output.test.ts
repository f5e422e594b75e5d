import { PassThrough, Writable } from 'node:stream';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { CommandError } from '../src/errors.ts';
import { createOutput, ReaderGoneError } from '../src/output.ts';

/** Fails each write, at once or later. */
const failingStream = (code: string, isLate: boolean) =>
  new Writable({
    write(_chunk, _encoding, callback) {
      const fail = () => callback(Object.assign(new Error(`write ${code}`), { code }));
      if (isLate) setImmediate(fail);
      else fail();
    },
  });

describe.each([
  ['at once', false],
  ['later', true],
])('a failure that is reported %s', (_, isLate) => {
  test('stops a command when the reader of its output has gone', async () => {
    const output = createOutput({ stdout: failingStream('EPIPE', isLate), stderr: new PassThrough() });
    await expect(output.write('something')).rejects.toThrow(ReaderGoneError);
    await expect(output.write('more')).rejects.toThrow(ReaderGoneError);
  });

  test.each([
    ['ENOSPC', 'no space is left on the disk'],
    ['EIO', 'write EIO'],
  ])('fails a command where its output cannot be written (%s)', async (code, reason) => {
    const output = createOutput({ stdout: failingStream(code, isLate), stderr: new PassThrough() });
    for (const text of ['something', 'more']) {
      const writing = output.write(text);
      await expect(writing).rejects.toThrow(CommandError);
      await expect(writing).rejects.toThrow(`standard output cannot be written: ${reason}`);
    }
  });
});

test('a command waits while the reader of its output is busy', async () => {
  const stdout = new PassThrough({ highWaterMark: 4 });
  const output = createOutput({ stdout, stderr: new PassThrough() });
  let isWritten = false;
  const writing = output.write('too much').then(() => {
    isWritten = true;
  });
  await new Promise(setImmediate);
  expect(isWritten).toBe(false);
  expect(String(stdout.read())).toBe('too much');
  await writing;
});

test.each([
  [true, '\r\u001b[K1 read\r\u001b[Kdone\n'],
  [false, 'done\n'],
])('progress is shown on a terminal alone (%s), and makes way for messages', (isTTY, text) => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const stderr = Object.assign(new PassThrough(), { isTTY });
  const output = createOutput({ stdout: new PassThrough(), stderr });
  output.progress('1 read');
  output.progress('2 read'); // too soon to be seen
  output.message('done');
  expect(String(stderr.read())).toBe(text);
});

test('what was shown of the progress stays above what is said below it', () => {
  const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 10 });
  const output = createOutput({ stdout: new PassThrough(), stderr });
  output.progress('1 of 100000 read');
  output.progress('committing', { isDue: true });
  output.messageBelow('Interrupted.');
  output.messageBelow('Again.');
  expect(String(stderr.read())).toBe('\r\u001b[K1 of 1000\r\u001b[Kcommittin\nInterrupted.\nAgain.\n');
});
