import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readStorageSettings, SettingsError } from '../src/settings.ts';

test('of the environment only what says where data is kept is read', () => {
  const environment = { DATABASE_URL: 'postgres://db/x', MIGRATE: 'off', CORS_ORIGINS: 'bogus/x', PORT: 'http' };
  expect(readStorageSettings(environment, '/srv/shop')).toEqual({
    databaseUrl: 'postgres://db/x',
    redisPrefix: '',
    dataFolder: '/srv/shop/.data',
    migrate: false,
  });
});

test('all of it that is wrong is named in one error, without a password', () => {
  const read = () => readStorageSettings({ DATABASE_URL: 'mysql://u:hunter2@db', REDIS_URL: '?', MIGRATE: 'x' }, '/');
  expect(read).toThrow(SettingsError);
  expect(read).toThrow(
    /^Invalid settings:\n {2}DATABASE_URL is mysql:\/\/\.\.\. .*\n {2}REDIS_URL .*\n {2}MIGRATE is "x"; it must be on or off$/,
  );
  expect(read).not.toThrow(/hunter2/);
});

test('a file may hold a secret', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'petstore-settings-'));
  const file = join(folder.path, 'database-url');
  const read = (environment: Record<string, string>) => readStorageSettings(environment, '/');
  writeFileSync(file, 'postgres://u:hunter2@db/x\n');
  expect(read({ DATABASE_URL_FILE: file }).databaseUrl).toBe('postgres://u:hunter2@db/x');
  expect(() => read({ DATABASE_URL_FILE: file, DATABASE_URL: 'postgres://db/x' })).toThrow(
    'DATABASE_URL and DATABASE_URL_FILE are both set; set one of them',
  );
  writeFileSync(file, 'mysql://u:hunter2@db/x');
  expect(() => read({ DATABASE_URL_FILE: file })).toThrow(
    / DATABASE_URL, in the file of DATABASE_URL_FILE, is mysql:.* it must be postgres:/,
  );
  expect(() => read({ DATABASE_URL_FILE: file })).not.toThrow(/hunter2/);
  writeFileSync(file, ' \n');
  expect(() => read({ DATABASE_URL_FILE: file })).toThrow('which is empty; it must contain the value of DATABASE_URL');
  expect(() => read({ REDIS_URL_FILE: join(folder.path, 'nothing') })).toThrow(
    /REDIS_URL_FILE is ".*nothing", which cannot be read: no such file or folder/,
  );
});

const read = (url: string) => readStorageSettings({ DATABASE_URL: url }, '/').databaseUrl;

test.each([
  ['postgres://u:p@db/x', 'postgres://u:p@db/x'],
  ['postgresql://u:p@ss,w@db:5433/x?sslmode=verify-full', 'postgresql://u:p@ss,w@db:5433/x?sslmode=verify-full'],
  [
    'postgres://u:p@[::1]:5/x?target_session_attrs=read-write',
    'postgres://u:p@[::1]:5/x?target_session_attrs=read-write',
  ],
  ['postgres://u:p@/x?host=/run/postgresql', 'postgres://u:p@localhost/x?host=/run/postgresql'],
  ['postgres:///x', 'postgres://localhost/x'],
])('%s leads to %s', (text, url) => {
  expect(read(text)).toBe(url);
});

test.each([
  ['mysql://u:hunter2@db/x', /DATABASE_URL is mysql:\/\/\.\.\. \(the rest is not shown\); it must be postgres:/],
  // Read by the URL's grammar, these passwords end the host.
  ['postgres://u:12/hunter2==@a/x', /; it must be postgres:.* \(% \/ \? # in a password as %25 %2F %3F %23\)$/],
  ['postgres://u:12?hunter2@a/x', /; it must be postgres:/],
  ['postgres://u:12#hunter2@a/x', /; it must be postgres:/],
  ['postgres://u:hunter2@a:1,b:2/x', /; it names several hosts; it must be postgres:.* with one host/],
  ['postgres://u:hunter2@/x?host=a,b&port=1,2', /; it names several hosts; it must be postgres:.* with one host/],
  ['postgres://u:hunter2@a:b/x', /; Invalid URL; it must be postgres:/],
  ['postgres://u:hunter2@a b/x', /; Invalid URL; it must be postgres:/],
  ['postgres://u:hunter2@[::1/x', /; Invalid URL; it must be postgres:/],
  ['postgres://u:hunter%de2@a/x', /; URI malformed; it must be postgres:/],
  [
    'postgres://u:hunter2@a/x?sslrootcert=/no/ca.pem',
    /; ENOENT: no such file .* '\/no\/ca\.pem'; it must be postgres:/,
  ],
  ['postgres://u:hunter2@a/x?uselibpqcompat=true&sslmode=verify-ca', /; SECURITY WARNING: .* with sslrootcert/],
])('%s is refused in one line, which says what would be right', (text, problem) => {
  expect(() => read(text)).toThrow(/^Invalid settings:\n[^\n]+$/);
  expect(() => read(text)).toThrow(problem);
  expect(() => read(text)).not.toThrow(/hunter/);
});
