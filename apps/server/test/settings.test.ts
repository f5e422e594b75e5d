import { restRoutes } from '@petstore/api';
import { SettingsError } from '@petstore/runtime/settings';
import { describe, expect, test } from 'vitest';
import { readSettings, type Settings } from '../src/settings.ts';

const OPTIONS = { workingFolder: '/srv/shop', isTerminal: false };
const read = (environment: Record<string, string>): Settings => readSettings(environment, OPTIONS);

function problemsOf(environment: Record<string, string>): string[] {
  try {
    read(environment);
  } catch (error) {
    if (error instanceof SettingsError)
      return error.message
        .split('\n')
        .slice(1)
        .map((line) => line.trim());
    throw error;
  }
  return [];
}

const DEFAULTS: Settings = {
  host: '127.0.0.1',
  port: 3000,
  adminPort: 3001,
  adminHost: '127.0.0.1',
  databaseConnections: 16,
  redisPrefix: '',
  dataFolder: '/srv/shop/.data',
  corsOrigins: [],
  trustProxy: false,
  instances: 1,
  shutdownDelayMs: 0,
  shutdownTimeoutMs: 10_000,
  eventsRetentionMs: 2_592_000_000,
  petsSunsetAt: new Date('2027-06-30T00:00:00Z'),
  logLevel: 'info',
  logFormat: 'json',
  showsBanner: true,
  accessLogLevel: 'debug',
  migrate: true,
};

test('without any variable every setting has its default', () => {
  expect(read({})).toEqual(DEFAULTS);
});

test('the sunset of the pets is that of their contract', () => {
  const route = restRoutes.find(({ operationId }) => operationId === 'getPetById');
  expect(read({}).petsSunsetAt).toEqual(route?.deprecation?.sunsetAt);
});

test('empty and blank mean unset, but for secrets', () => {
  const empty = {
    PORT: '',
    ADMIN_PORT: ' ',
    REDIS_PREFIX: '',
    DATA_DIR: '',
    TRUST_PROXY: '',
    MIGRATE: '',
  };
  expect(read(empty)).toEqual(DEFAULTS);
});

test('the log is pretty on a terminal, unless LOG_FORMAT says otherwise', () => {
  const terminal = { ...OPTIONS, isTerminal: true };
  expect(readSettings({}, terminal).logFormat).toBe('pretty');
  expect(readSettings({ LOG_FORMAT: 'json' }, terminal).logFormat).toBe('json');
});

test('people are greeted in words, but where LOG_FORMAT says json or a database of their own is served to programs', () => {
  const showsBanner = (environment: Record<string, string>, isTerminal: boolean) =>
    readSettings(environment, { ...OPTIONS, isTerminal }).showsBanner;
  const own = { DATABASE_URL: 'postgres://db/shop' };
  expect([showsBanner({}, true), showsBanner({}, false)]).toEqual([true, true]);
  expect([showsBanner(own, true), showsBanner(own, false)]).toEqual([true, false]);
  for (const environment of [{}, own]) {
    expect(showsBanner({ ...environment, LOG_FORMAT: 'json' }, true)).toBe(false);
    expect(showsBanner({ ...environment, LOG_FORMAT: 'pretty' }, false)).toBe(true);
  }
});

test.each<[Record<string, string>, Partial<Settings>]>([
  [{ PORT: '0' }, { port: 0, adminPort: 0 }],
  [{ PORT: '8080' }, { port: 8080, adminPort: 8081 }],
  [
    { PORT: '65535', ADMIN_PORT: '9000' },
    { port: 65_535, adminPort: 9000 },
  ],
  [{ PORT: '8080', ADMIN_PORT: '0' }, { adminPort: 0 }],
  [{ HOST: 'fe80::1%eth0' }, { host: 'fe80::1%eth0' }],
  [{ HOST: '::1' }, { host: '::1', adminHost: '127.0.0.1' }],
  [{ ADMIN_HOST: '10.0.0.7' }, { host: '127.0.0.1', adminHost: '10.0.0.7' }],
  [{ SECURITY_CONTACT: 'mailto:security@shop.example' }, { securityContact: 'mailto:security@shop.example' }],
  [{ SUPPORT_CONTACT: 'mailto:api@shop.example' }, { supportContact: 'mailto:api@shop.example' }],
  [{ STATUS_PAGE_URL: 'https://status.shop.example/' }, { statusPageUrl: 'https://status.shop.example/' }],
  [{ DATABASE_URL: 'postgres://u:p@db/x' }, { databaseUrl: 'postgres://u:p@db/x' }],
  [{ DATABASE_URL: 'postgresql:///x?host=/run' }, { databaseUrl: 'postgresql://localhost/x?host=/run' }],
  [{ DATA_DIR: 'my data' }, { dataFolder: '/srv/shop/my data' }],
  [{ PUBLIC_BASE_URL: 'https://api.example/v1' }, { publicBaseUrl: 'https://api.example/v1' }],
  [{ STAGING_BASE_URL: 'http://staging:8080/petstore/v1' }, { stagingBaseUrl: 'http://staging:8080/petstore/v1' }],
  [{ CORS_ORIGINS: 'https://a.example, http://b:3000' }, { corsOrigins: ['https://a.example', 'http://b:3000'] }],
  [{ TRUST_PROXY: 'true' }, { trustProxy: true }],
  [{ TRUST_PROXY: '2' }, { trustProxy: 2 }],
  [{ TRUST_PROXY: '10.0.0.0/8, ::1,192.168.1.1' }, { trustProxy: ['10.0.0.0/8', '::1', '192.168.1.1'] }],
  [{ INSTANCES: '4', REDIS_URL: 'redis://cache' }, { instances: 4 }],
  [{ SHUTDOWN_DELAY: '15s' }, { shutdownDelayMs: 15_000, shutdownTimeoutMs: 25_000 }],
  [
    { SHUTDOWN_DELAY: '5s', SHUTDOWN_TIMEOUT: '1m' },
    { shutdownDelayMs: 5_000, shutdownTimeoutMs: 60_000 },
  ],
  [{ EVENTS_RETENTION: '1s' }, { eventsRetentionMs: 1_000 }],
  [{ EVENTS_RETENTION: '36500d' }, { eventsRetentionMs: 3_153_600_000_000 }],
  [{ PETS_SUNSET_AT: '2028-02-29' }, { petsSunsetAt: new Date('2028-02-29T00:00:00Z') }],
  [{ PETS_SUNSET_AT: '2028-01-01T00:00:00+02:00' }, { petsSunsetAt: new Date('2027-12-31T22:00:00Z') }],
  [
    { LOG_LEVEL: 'debug', LOG_FORMAT: 'pretty' },
    { logLevel: 'debug', logFormat: 'pretty' },
  ],
  [{ ACCESS_LOG: 'on' }, { accessLogLevel: 'info' }],
  [{ MIGRATE: 'off' }, { migrate: false }],
])('%o is understood', (environment, expected) => {
  expect(read(environment)).toMatchObject(expected);
});

test.each<[string, Settings['redis']]>([
  ['redis://cache', { type: 'single', host: 'cache', port: 6379, database: 0, tls: false }],
  [
    'rediss://:p%40ss@cache:6380/2',
    { type: 'single', host: 'cache', port: 6380, database: 2, tls: true, password: 'p@ss' },
  ],
  [
    'redis://user:pw@[::1]:7000',
    { type: 'single', host: '::1', port: 7000, database: 0, tls: false, username: 'user', password: 'pw' },
  ],
  [
    'redis://a:7000, redis://b:7001,redis://c',
    {
      type: 'cluster',
      tls: false,
      nodes: [
        { host: 'a', port: 7000 },
        { host: 'b', port: 7001 },
        { host: 'c', port: 6379 },
      ],
    },
  ],
  [
    'redis+sentinel://:pw@a,b:26380/main/1',
    {
      type: 'sentinel',
      tls: false,
      password: 'pw',
      masterName: 'main',
      database: 1,
      sentinels: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 26380 },
      ],
    },
  ],
  ['rediss://cache?tls_verify=none', { type: 'single', host: 'cache', port: 6379, database: 0, tls: 'unverified' }],
  [
    'rediss://:pw@a/?tls_verify=none,rediss://:pw@b:7001/0?tls_verify=none',
    {
      type: 'cluster',
      tls: 'unverified',
      password: 'pw',
      nodes: [
        { host: 'a', port: 6379 },
        { host: 'b', port: 7001 },
      ],
    },
  ],
  [
    'rediss+sentinel://a,b/main/1?tls_verify=none',
    {
      type: 'sentinel',
      tls: 'unverified',
      masterName: 'main',
      database: 1,
      sentinels: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 26379 },
      ],
    },
  ],
])('REDIS_URL may be %s', (text, expected) => {
  expect(read({ REDIS_URL: text }).redis).toEqual(expected);
});

describe('a wrong value is named, with what is expected', () => {
  test.each<[string, string[]]>([
    ['PORT', ['65536', '-1', 'http', '3000.5', '0x50', '1e3']],
    ['ADMIN_PORT', ['65536', 'x', '3000']],
    ['HOST', ['local host', 'http://localhost', ':::::', '127.0.0.300', 'localhost:3000', '.', '-a', '[::1]']],
    ['DATABASE_CONNECTIONS', ['0', '-1', '1.5', '1001', 'many']],
    ['DATABASE_URL', ['mysql://db/x', 'host=db', 'postgres://[', 'db']],
    [
      'REDIS_URL',
      [
        'http://cache',
        'cache:6379',
        'redis://',
        'redis://cache:0',
        'redis://cache:99999',
        'redis://cache/x',
        'redis://a,redis://:pw@b',
        'redis://a/1,redis://b/1',
        'redis+sentinel://a',
        'redis://a,',
        'redis://%@a',
        'redis://hunter2@cache',
        'redis://:a#b@cache',
        'rediss://cache?rejectUnauthorized=false', // passed over, it could mean to trust more or less than is wanted
        'rediss://a,rediss://b?tls_verify=none&ssl_cert_reqs=none',
        'rediss+sentinel://a,b/main?sentinelPassword=hunter2',
        'rediss://cache?tls_verify=hunter2',
        'redis://cache?tls_verify=none', // would have no effect
        'rediss://:x?hunter2=@cache?tls_verify=none',
      ],
    ],
    ['DATA_DIR', ['~', '~/data', '$HOME/data']],
    ['REDIS_PREFIX', ['{shop}', 'shop api:', 'shop*', 'x'.repeat(41)]],
    [
      'PUBLIC_BASE_URL',
      ['https://api.example', 'https://api.example/v1/', 'https://api.example/v1?x', 'ftp://a/v1', '/v1'],
    ],
    ['STAGING_BASE_URL', ['https://u:p@api.example/v1', 'https://api.example/xv1#']],
    ['CORS_ORIGINS', ['*', 'shop.example', 'https://shop.example/', 'https://a.example,b']],
    ['TRUST_PROXY', ['on', '0', '33', '10.0.0.0/33', '10.0.0', '10.0.0.0/8/8', 'proxy']],
    ['ADMIN_HOST', ['http://127.0.0.1', 'a host', '10.0.0.0/8']],
    [
      'SECURITY_CONTACT',
      ['security@shop.example', 'mailto:security', 'http://shop.example/security', 'mailto:a@b c', 'https://'],
    ],
    ['SUPPORT_CONTACT', ['api@shop.example', 'http://shop.example/support']],
    ['STATUS_PAGE_URL', ['mailto:status@shop.example', 'http://status.shop.example', 'status.shop.example']],
    ['INSTANCES', ['0', '-1', '1.5', 'many', '10001']],
    ['SHUTDOWN_DELAY', ['5', '-1s', '500ms', '2h', 'soon']],
    ['SHUTDOWN_TIMEOUT', ['0s', '10', '2h']],
    ['EVENTS_RETENTION', ['0s', '30', '500ms', '1.5h', '-1d', '36501d', '2w', 'forever']],
    ['PETS_SUNSET_AT', ['soon', '2027-02-30', '2027-06-30T12:00', '30.06.2027']],
    ['LOG_LEVEL', ['loud', 'INFO']],
    ['LOG_FORMAT', ['xml']],
    ['ACCESS_LOG', ['yes', '1']],
    ['MIGRATE', ['yes', 'true']],
  ])('%s', (name, wrongTexts) => {
    for (const text of wrongTexts) {
      const problems = problemsOf({ [name]: text });
      expect(problems, text).toHaveLength(1);
      expect(problems[0], text).toMatch(new RegExp(`^${name} is .+; it must be .{4,}`));
    }
  });

  test.each([
    ['DATABASE_URL', 'DATABASE_URL is set but empty; give it a value, or unset it'],
    ['REDIS_URL', 'REDIS_URL is set but empty; give it a value, or unset it'],
    ['DATABASE_URL_FILE', 'DATABASE_URL_FILE is set but empty; it must be the path of a file, or be unset'],
  ])('%s must not be set and empty: a secret was not delivered', (name, problem) => {
    for (const text of ['', ' ']) expect(problemsOf({ [name]: text })).toEqual([problem]);
  });

  test('a shutdown needs time behind its delay', () => {
    expect(problemsOf({ SHUTDOWN_DELAY: '10s', SHUTDOWN_TIMEOUT: '10s' })).toEqual([
      'SHUTDOWN_TIMEOUT is not longer than SHUTDOWN_DELAY; requests need time to complete after the delay: set a longer one',
    ]);
  });

  test('in production there is no embedded database', () => {
    for (const production of ['production', 'prod', 'Production', ' production ']) {
      expect(problemsOf({ NODE_ENV: production })).toEqual([
        'DATABASE_URL is not set, and there is no embedded database in production; set DATABASE_URL',
      ]);
    }
    expect(problemsOf({ NODE_ENV: 'production', DATABASE_URL: 'postgres://db/x' })).toEqual([]);
    expect(problemsOf({ NODE_ENV: 'development' })).toEqual([]);
  });

  test('several servers need a Redis in which they count together', () => {
    expect(problemsOf({ INSTANCES: '2' })).toEqual([
      'INSTANCES is 2, and several servers need one Redis to count limits together; set REDIS_URL',
    ]);
  });

  test('ADMIN_PORT is required where PORT + 1 is not a valid port', () => {
    expect(problemsOf({ PORT: '65535' })).toEqual([
      'ADMIN_PORT is not set, and PORT + 1 is not a valid port; set ADMIN_PORT',
    ]);
  });
});

test('all wrong settings are named in one message', () => {
  expect(problemsOf({ PORT: 'x', REDIS_URL: 'y', MIGRATE: 'z', LOG_LEVEL: 'info' })).toEqual([
    expect.stringMatching(/^PORT is "x"; it must be a port/),
    expect.stringMatching(/^REDIS_URL is something/),
    expect.stringMatching(/^MIGRATE is "z"; it must be on or off/),
  ]);
});

test('errors that involve two settings are named together with the others', () => {
  expect(problemsOf({ PORT: '8080', ADMIN_PORT: '8080', INSTANCES: '0' })).toEqual([
    expect.stringMatching(/^INSTANCES is "0"; it must be a whole number/),
    expect.stringMatching(/^ADMIN_PORT is "8080"; it must be a port, .*other than PORT$/),
  ]);
});

test('no message holds a password', () => {
  const environments = [
    { DATABASE_URL: 'mysql://user:hunter2@db/x' },
    { DATABASE_URL: 'host=db password=hunter2' },
    { DATABASE_URL: 'postgres://user:hunter2/x@db:port/x' },
    { DATABASE_URL: 'mysql://db/x?password=hunter2' },
    { REDIS_URL: 'redis://:hunter2@cache/x' },
    { REDIS_URL: 'hunter2' },
    { REDIS_URL: 'redis://:hunter2' },
    { PUBLIC_BASE_URL: 'https://user:hunter2@api.example/v1' },
    { CORS_ORIGINS: 'https://ok.example,https://user:hunter2@shop.example' },
  ];
  for (const environment of environments) {
    const problems = problemsOf(environment);
    expect(problems).toHaveLength(1);
    expect(problems[0]).not.toContain('hunter2');
  }
});
