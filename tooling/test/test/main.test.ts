import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ensureNeededPrograms } from '../src/needed-programs.ts';

const MAIN = join(import.meta.dirname, '../src/main.ts');

test('asked to watch, the command names the one that does, and runs nothing', () => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [MAIN, '--filter=@petstore/domain', '--watch'], {
    encoding: 'utf8',
  });
  expect(stderr).toBe(
    'This command runs the tests once. To run them after each change: ' +
      'pnpm exec turbo watch test --filter=@petstore/domain\n',
  );
  expect([status, stdout]).toEqual([2, '']);
});

test('what is missing is named, with how to install it', () => {
  const postgresFolder = '/nowhere/postgresql/16/bin';
  expect(ensureNeededPrograms('test', { mayInstall: false, postgresFolder })).toBe(
    'These tests need programs that this machine does not have:\n' +
      '  the PostgreSQL of PETSTORE_TEST_POSTGRES, /nowhere/postgresql/16/bin: ' +
      '"sudo apt-get install postgresql-16" (Debian), https://www.postgresql.org/download/\n' +
      'With --install, or if CI is set, the command installs them by apt-get.',
  );
});

test('the test command needs nothing but a Redis server, which it brings', () => {
  expect(ensureNeededPrograms('test', { mayInstall: false })).toBeUndefined();
});
