import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';

const urlOf = (path: string) => pathToFileURL(join(import.meta.dirname, '../../..', path)).href;

/** Loads two files, and runs a function of one of them for each line that it reads. */
const PROGRAM = `
  import { createInterface } from 'node:readline';
  import { parseInt64 } from '${urlOf('packages/domain/src/ids.ts')}';
  import '${urlOf('packages/domain/src/decide-order.ts')}';
  for await (const line of createInterface(process.stdin)) console.log(parseInt64(line));
`;

test('the tracer prints the files whose functions have run since it was asked last', async () => {
  const tracer = urlOf('tooling/test/src/trace-files.ts');
  const child = spawn(process.execPath, ['--import', tracer, '--input-type=module', '--eval', PROGRAM]);
  const closed = once(child, 'close');
  const printed = createInterface(child.stderr)[Symbol.asyncIterator]();
  const nextLine = async () => (await printed.next()).value;
  expect(await nextLine()).toBe(`kill -USR2 ${child.pid} prints the files that have run since the last time`);
  const run = async () => {
    child.stdin.write('7\n');
    expect(String(await once(child.stdout, 'data'))).toContain('7n');
  };
  await run();
  child.kill('SIGUSR2');
  expect(await nextLine()).toMatch(/^\d+ files have run:$/);
  await run();
  child.kill('SIGUSR2');
  while (!/^\d+ files have run:$/.test((await nextLine()) ?? ''));
  expect(await nextLine()).toBe('packages/domain/src/ids.ts');
  child.stdin.end();
  expect(await closed).toEqual([0, null]);
  expect(await nextLine()).toBeUndefined();
});
