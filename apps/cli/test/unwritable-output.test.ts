import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { expectKey, petstoreInto, useTestCommandLine } from './support.ts';

const commandLine = useTestCommandLine();

async function withFile<Value>(path: string, flags: string, work: (descriptor: number) => Promise<Value>) {
  const descriptor = openSync(path, flags);
  try {
    return await work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Two outputs that cannot be written: a full disk, as Linux has it ready made, and what is open for reading alone. */
const OUTPUTS = [
  { path: () => join(commandLine.folder, 'closed'), flags: 'r', reason: '' },
  ...(process.platform === 'linux'
    ? [{ path: () => '/dev/full', flags: 'w', reason: 'no space is left on the disk' }]
    : []),
];

describe.each(OUTPUTS)('an output that cannot be written ($flags) ends a command with 1 and one line', (output) => {
  beforeAll(async () => {
    if (output.flags === 'r') writeFileSync(output.path(), '');
    await commandLine.json(['orders', 'generate', '--count', '3']);
  });

  test.each([
    ['--help'],
    ['keys list --help'],
    ['keys create --plan free'],
    ['keys create --plan free --name lost --json'],
    ['keys list'],
    ['keys list --json'],
    ['orders list'],
    ['orders list --json'],
    ['orders export -'],
    ['orders import - --json'],
    ['migrate --status'],
  ])('petstore %s', async (line) => {
    const { environment } = commandLine;
    const { code, stderr } = await withFile(output.path(), output.flags, (descriptor) =>
      petstoreInto(descriptor, line.split(' '), { environment }),
    );
    expect(stderr).toContain(`petstore: standard output cannot be written: ${output.reason}`);
    expect(stderr).not.toMatch(/^ +at /m); // no stack
    expect(code).toBe(1);
  });
});

test('a key whose text is lost can be given another', async () => {
  const [output] = OUTPUTS;
  if (output === undefined) throw new Error('there is one at least');
  writeFileSync(output.path(), '');
  const { environment } = commandLine;
  const { stderr } = await withFile(output.path(), output.flags, (descriptor) =>
    petstoreInto(descriptor, ['keys', 'create', '--plan', 'pro', '--json'], { environment }),
  );
  const id = /The text of the key (\w{8}) is lost; "keys rotate \1" gives it another/.exec(stderr)?.[1] ?? '';
  expect(expectKey(await commandLine.json(['keys', 'rotate', id]))).toMatchObject({ id, plan: 'pro' });
});

describe('a file', () => {
  const path = () => join(commandLine.folder, 'output.json');
  const names = () => commandLine.json(['keys', 'list']);

  test('is written as a pipe is, and added to where the shell says so', async () => {
    writeFileSync(path(), 'before\n');
    const { code } = await withFile(path(), 'a', (descriptor) =>
      petstoreInto(descriptor, ['keys', 'list', '--json'], commandLine),
    );
    expect(code).toBe(0);
    const [first, second = ''] = readFileSync(path(), 'utf8').split('\n');
    expect(first).toBe('before');
    expect(JSON.parse(second)).toEqual(await names());
  });

  test('that has room for a part of the output only fails the command', async () => {
    for (let i = 0; i < 10; i++) await commandLine.json(['keys', 'create', '--plan', 'free']);
    const { code, stderr } = await withFile(path(), 'w', (descriptor) =>
      petstoreInto(descriptor, ['keys', 'list', '--json'], { ...commandLine, prelude: 'ulimit -f 1' }),
    );
    expect(stderr).toMatch(/^petstore: standard output cannot be written: .+\n$/);
    expect(code).toBe(1);
  });
});
