import { closeSync, createWriteStream, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { beforeAll, describe, expect, test } from 'vitest';
import { Output } from '../src/output.ts';
import { Progress } from '../src/progress.ts';
import { expectKey, petstoreInto, useTestCommandLine } from './support.ts';

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

const commandLine = useTestCommandLine();
const pathOf = (name: string) => join(commandLine.folder, name);

async function withFile<Value>(path: string, flags: string, work: (descriptor: number) => Promise<Value>) {
  const descriptor = openSync(path, flags);
  try {
    return await work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

beforeAll(async () => {
  writeFileSync(pathOf('read-only'), '');
  await commandLine.json(['orders', 'generate', '--count', '3']);
});

/** Two outputs that cannot be written: a full disk, which Linux provides as a device, and one opened for reading only. */
const OUTPUTS = [
  { path: () => pathOf('read-only'), flags: 'r', reason: '' },
  ...(process.platform === 'linux'
    ? [{ path: () => '/dev/full', flags: 'w', reason: 'no space left on the disk' }]
    : []),
];

describe.each(OUTPUTS)('an output that cannot be written ($flags) ends a command with 1 and one line', (output) => {
  function expectFailure({ code, stderr }: { readonly code: number | null; readonly stderr: string }) {
    expect(stderr).toContain(`petstore: standard output cannot be written: ${output.reason}`);
    expect(stderr).not.toMatch(/^ +at /m); // no stack
    expect(code).toBe(1);
  }

  test.each([
    ['--help'],
    ['keys create --plan free'],
    ['keys list --json'],
    ['orders list --json'],
    ['orders export -'],
    ['orders import - --json'],
  ])('petstore %s', async (line) => {
    const call = await withFile(output.path(), output.flags, (fd) =>
      petstoreInto(createWriteStream('', { fd, autoClose: false }), line.split(' '), commandLine),
    );
    expectFailure(call);
  });
});

test('a key whose text is lost can be given another, and a process ends with 1, too', async () => {
  const { code, stderr } = await withFile(pathOf('read-only'), 'r', (stdout) =>
    commandLine.runProcess(['keys', 'create', '--plan', 'pro', '--json'], { stdout }),
  );
  const id = /The secret of key (\w{8}) is lost; "petstore keys rotate \1" issues another/.exec(stderr)?.[1] ?? '';
  expect(code).toBe(1);
  expect(expectKey(await commandLine.json(['keys', 'rotate', id]))).toMatchObject({ id, plan: 'pro' });
});

test('a key whose text has no reader is not lost silently', async () => {
  const gone = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  const closed = new Writable({ write: (_chunk, _encoding, done) => done(gone) });
  const { code, stderr } = await petstoreInto(closed, ['keys', 'create', '--plan', 'pro', '--json'], commandLine);
  expect(stderr).toMatch(/^petstore: standard output was closed by its reader\. The secret of key \w{8} is lost;/);
  expect(code).toBe(1);
});

describe('a file', () => {
  const path = () => pathOf('output.json');

  test('is written as a pipe is, and added to where the shell says so', async () => {
    writeFileSync(path(), 'before\n');
    const { code } = await withFile(path(), 'a', (stdout) =>
      commandLine.runProcess(['keys', 'list', '--json'], { stdout }),
    );
    expect(code).toBe(0);
    const [first, second = ''] = readFileSync(path(), 'utf8').split('\n');
    expect(first).toBe('before');
    expect(JSON.parse(second)).toEqual(await commandLine.json(['keys', 'list']));
  });

  test('that has room for a part of the output only fails the command', async () => {
    for (let i = 0; i < 6; i++) await commandLine.json(['keys', 'create', '--plan', 'free']);
    // In one piece, of which the system writes a part without an error.
    const { code, stderr } = await withFile(path(), 'w', (stdout) =>
      commandLine.runProcess(['keys', 'list', '--json'], { stdout, prelude: 'ulimit -f 1' }),
    );
    expect(stderr).toMatch(/^petstore: standard output cannot be written: .+\n$/);
    expect(code).toBe(1);
  });
});
