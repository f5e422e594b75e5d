import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { Output } from '../src/output.ts';
import { Progress } from '../src/progress.ts';

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
  let written = '';
  for (let chunk = stderr.read(); chunk !== null; chunk = stderr.read()) written += chunk;
  expect(written).toEqual(text);
});
