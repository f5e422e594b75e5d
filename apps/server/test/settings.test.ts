import { restRoutes } from '@petstore/api';
import { expect, test } from 'vitest';
import { readSettings, type Settings } from '../src/settings.ts';

// What follows from several settings, or from where the server is started. Each setting by itself: packages/runtime.

const OPTIONS = { workingFolder: '/srv/shop', isTerminal: false };
const DATABASE_URL = 'postgres://db/shop';

test.each<[Record<string, string>, Partial<Settings>, isTerminal?: boolean]>([
  [{}, { port: 3000, adminPort: 3001, dataFolder: '/srv/shop/.data', shutdownTimeoutMs: 10_000 }],
  [{ PORT: '0' }, { adminPort: 0 }],
  [{ PORT: '8080' }, { adminPort: 8081 }],
  [{ PORT: '8080', ADMIN_PORT: '0' }, { adminPort: 0 }],
  [{ HOST: '::1' }, { host: '::1', adminHost: '127.0.0.1' }],
  [{ ADMIN_HOST: '10.0.0.7' }, { host: '127.0.0.1', adminHost: '10.0.0.7' }],
  [{ DATA_DIR: 'my data' }, { dataFolder: '/srv/shop/my data' }],
  [{ SHUTDOWN_DELAY: '15s' }, { shutdownTimeoutMs: 25_000 }],
  [{ SHUTDOWN_DELAY: '5s', SHUTDOWN_TIMEOUT: '1m' }, { shutdownTimeoutMs: 60_000 }],
  // The log is pretty on a terminal, and people are greeted in words, also by a first start whose output is in a file.
  [{}, { logFormat: 'json', showsBanner: true }],
  [{}, { logFormat: 'pretty', showsBanner: true }, true],
  [{ DATABASE_URL }, { logFormat: 'json', showsBanner: false }],
  [{ DATABASE_URL }, { logFormat: 'pretty', showsBanner: true }, true],
  [{ LOG_FORMAT: 'json' }, { logFormat: 'json', showsBanner: false }, true],
  [
    { LOG_FORMAT: 'pretty', DATABASE_URL },
    { logFormat: 'pretty', showsBanner: true },
  ],
])('%o means %o (on a terminal: %s)', (environment, expected, isTerminal = false) => {
  expect(readSettings(environment, { ...OPTIONS, isTerminal })).toMatchObject(expected);
});

test('the sunset of the pets is that of their contract', () => {
  const route = restRoutes.find(({ operationId }) => operationId === 'getPetById');
  expect(readSettings({}, OPTIONS).petsSunsetAt).toEqual(route?.deprecation?.sunsetAt);
});
