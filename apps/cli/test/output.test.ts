import { PassThrough, Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { CommandError } from '../src/errors.ts';
import { Output, ReaderGoneError } from '../src/output.ts';
import { Progress } from '../src/progress.ts';

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
    const output = new Output({ stdout: failingStream('EPIPE', isLate), stderr: new PassThrough() });
    await expect(output.write('something')).rejects.toThrow(ReaderGoneError);
    await expect(output.write('more')).rejects.toThrow(ReaderGoneError);
  });

  test.each([
    ['ENOSPC', 'no space is left on the disk'],
    ['EIO', 'write EIO'],
  ])('fails a command where its output cannot be written (%s)', async (code, reason) => {
    const output = new Output({ stdout: failingStream(code, isLate), stderr: new PassThrough() });
    for (const text of ['something', 'more']) {
      const writing = output.write(text);
      await expect(writing).rejects.toThrow(CommandError);
      await expect(writing).rejects.toThrow(`standard output cannot be written: ${reason}`);
    }
  });
});

test('a command waits while the reader of its output is busy', async () => {
  const stdout = new PassThrough({ highWaterMark: 4 });
  const output = new Output({ stdout, stderr: new PassThrough() });
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
  [true, expect.stringMatching(/░.* 0 %.*1,000 read.*committing.*\[2Kdone\n$/s)],
  [false, 'done\n'],
])('progress is shown on a terminal alone (%s), and makes way for messages', (isTTY, text) => {
  const stderr = Object.assign(new PassThrough(), { isTTY });
  const output = new Output({ stdout: new PassThrough(), stderr });
  const progress = new Progress(output, 'read', 1_000_000);
  progress.advance(1_000);
  progress.awaits('committing');
  output.message('done');
  expect(String(stderr.read())).toEqual(text);
});
