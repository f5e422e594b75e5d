import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readStorageSettings, SettingsError } from '../src/settings.ts';

test('of the environment only what says where data is kept is read', () => {
  const environment = { DATABASE_URL: 'postgres://db/x', MIGRATE: 'off', CORS_ORIGINS: 'bogus/x', PORT: 'http' };
  expect(readStorageSettings(environment, '/srv/shop')).toEqual({
    databaseUrls: ['postgres://db/x'],
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
  expect(read({ DATABASE_URL_FILE: file }).databaseUrls).toEqual(['postgres://u:hunter2@db/x']);
  expect(() => read({ DATABASE_URL_FILE: file, DATABASE_URL: 'postgres://db/x' })).toThrow(
    'DATABASE_URL and DATABASE_URL_FILE are both set; set one of them',
  );
  writeFileSync(file, 'mysql://u:hunter2@db/x');
  expect(() => read({ DATABASE_URL_FILE: file })).toThrow(
    / DATABASE_URL, in the file of DATABASE_URL_FILE, is mysql:.* it must be the address of /,
  );
  expect(() => read({ DATABASE_URL_FILE: file })).not.toThrow(/hunter2/);
  writeFileSync(file, ' \n');
  expect(() => read({ DATABASE_URL_FILE: file })).toThrow('which is empty; it must contain the value of DATABASE_URL');
  expect(() => read({ REDIS_URL_FILE: join(folder.path, 'nothing') })).toThrow(
    /REDIS_URL_FILE is ".*nothing", which cannot be read: no such file or folder/,
  );
});
