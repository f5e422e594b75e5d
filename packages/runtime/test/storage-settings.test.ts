import { expect, test } from 'vitest';
import { readStorageSettings, SettingsError } from '../src/index.ts';

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
    /^These settings are wrong:\n {2}DATABASE_URL is mysql:\/\/\.\.\. .*\n {2}REDIS_URL .*\n {2}MIGRATE is "x"; it must be on or off$/,
  );
  expect(read).not.toThrow(/hunter2/);
});
