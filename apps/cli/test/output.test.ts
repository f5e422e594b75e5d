import { PassThrough, Writable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createOutput, ReaderGoneError } from '../src/output.ts';

test('a command stops when the reader of its output has gone', async () => {
  const stdout = new Writable({
    highWaterMark: 1,
    write: (_chunk, _encoding, callback) => callback(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
  });
  const output = createOutput({ stdout, stderr: new PassThrough() });
  await expect(output.write('something')).rejects.toThrow(ReaderGoneError);
  await expect(output.write('more')).rejects.toThrow(ReaderGoneError);
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
  output.say('done');
  expect(String(stderr.read())).toBe(text);
});
