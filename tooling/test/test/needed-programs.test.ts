import { expect, test } from 'vitest';
import { ensureNeededPrograms } from '../src/needed-programs.ts';

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
