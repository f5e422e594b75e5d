import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const CHECKOUT = join(import.meta.dirname, '../../../..');

test('the documented form prints what the command prints, and no more, in any folder of the checkout', () => {
  const call = (folder: string, argument: string) => {
    const command = ['--yes', 'pnpm@12', '-s', 'petstore', argument];
    const { status, stdout, stderr } = spawnSync('npx', command, { cwd: join(CHECKOUT, folder), encoding: 'utf8' });
    return { status, stdout, stderr: stderr.replace(/^npm warn .*\n/gm, '') }; // of the settings of a machine
  };
  expect(call('docs', '--version')).toEqual({ status: 0, stdout: expect.stringMatching(/^\d+\.\S+\n$/), stderr: '' });
  expect(call('.', 'dance')).toEqual({ status: 2, stdout: '', stderr: expect.stringMatching(/^petstore: .*\n.*\n$/) });
});
