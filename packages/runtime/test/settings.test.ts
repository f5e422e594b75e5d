import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  readSettings,
  readStorageSettings,
  SettingsError,
  type SettingValues,
  settingsSchema,
  textOf,
} from '../src/settings.ts';

interface Row<Value> {
  /** The value if the variable is not set. @default none */
  readonly unset?: Value;
  /** Texts that are understood, and their values. */
  readonly right?: Readonly<Record<string, Value>>;
  /** Texts that are understood, and are their own values. */
  readonly same?: readonly (string & Value)[];
  /** Texts that are refused, or with the pattern of what is said of each between its name and what it must be. */
  readonly wrong: readonly string[] | Readonly<Record<string, string>>;
}

const single = { type: 'single', port: 6379, database: 0, tls: false } as const;
const at = (host: string, port: number) => ({ host, port });
const HOURS_MS = 3_600_000;
const WRONG_HOSTS = ['local host', 'http://localhost', ':::::', '127.0.0.300', 'localhost:3000', '.', '-a', '[::1]'];
const SEVERAL_HOSTS = 'it names several hosts; ';
const INVALID = 'Invalid URL; ';

const SETTINGS: { readonly [Field in keyof SettingValues]-?: Row<SettingValues[Field]> } = {
  port: { unset: 3000, right: { 0: 0, 65534: 65_534 }, wrong: ['65536', '-1', 'http', '3000.5', '0x50', '1e3'] },
  adminPort: { right: { 0: 0, 65535: 65_535 }, wrong: ['65536', 'x'] },
  host: { unset: '127.0.0.1', same: ['::1', 'fe80::1%eth0', '0.0.0.0', 'a-b.example.'], wrong: WRONG_HOSTS },
  adminHost: { unset: '127.0.0.1', same: ['10.0.0.7'], wrong: [...WRONG_HOSTS, '10.0.0.0/8'] },
  databaseUrl: {
    right: {
      'postgresql:///x?host=/run': 'postgresql://localhost/x?host=/run',
      'postgres:///x': 'postgres://localhost/x',
    },
    same: [
      'postgres://u:p@db/x',
      'postgresql://u:p@ss,w@db:5433/x?sslmode=verify-full',
      'postgres://u:p@[::1]:5/x?target_session_attrs=read-write',
    ],
    wrong: {
      'mysql://u:hunter2@db/x': '',
      'mysql://db/x?password=hunter2': '',
      'host=db password=hunter2': '',
      'postgres://[': INVALID,
      db: '',
      // Read by the URL's grammar, these passwords end the host.
      'postgres://u:12/hunter2==@a/x': '',
      'postgres://u:12?hunter2@a/x': '',
      'postgres://u:12#hunter2@a/x': '',
      'postgres://user:hunter2/x@db:port/x': '',
      'postgres://u:hunter2@a:1,b:2/x': SEVERAL_HOSTS,
      'postgres://u:hunter2@/x?host=a,b&port=1,2': SEVERAL_HOSTS,
      'postgres://u:hunter2@a:b/x': INVALID,
      'postgres://u:hunter2@a b/x': INVALID,
      'postgres://u:hunter2@[::1/x': INVALID,
      'postgres://u:hunter%de2@a/x': 'URI malformed; ',
      'postgres://u:hunter2@a/x?sslrootcert=/no/ca.pem': "ENOENT: no such file .* '/no/ca.pem'; ",
      'postgres://u:hunter2@a/x?uselibpqcompat=true&sslmode=verify-ca': 'SECURITY WARNING: .* with sslrootcert.*; ',
    },
  },
  databaseConnections: { unset: 16, right: { 1: 1, 1000: 1_000 }, wrong: ['0', '-1', '1.5', '1001', 'many'] },
  redis: {
    right: {
      'redis://cache': { ...single, host: 'cache' },
      'rediss://:p%40ss@cache:6380/2': { ...single, ...at('cache', 6380), database: 2, tls: true, password: 'p@ss' },
      'redis://user:pw@[::1]:7000': { ...single, ...at('::1', 7000), username: 'user', password: 'pw' },
      'rediss://cache?tls_verify=none': { ...single, host: 'cache', tls: 'unverified' },
      'redis://a:7000, redis://b:7001,redis://c': {
        type: 'cluster',
        tls: false,
        nodes: [at('a', 7000), at('b', 7001), at('c', 6379)],
      },
      'rediss://:pw@a/?tls_verify=none,rediss://:pw@b:7001/0?tls_verify=none': {
        type: 'cluster',
        tls: 'unverified',
        password: 'pw',
        nodes: [at('a', 6379), at('b', 7001)],
      },
      'redis+sentinel://:pw@a,b:26380/main/1': {
        ...{ type: 'sentinel', tls: false, password: 'pw', masterName: 'main', database: 1 },
        sentinels: [at('a', 26_379), at('b', 26_380)],
      },
      'rediss+sentinel://a,b/main/1?tls_verify=none': {
        ...{ type: 'sentinel', tls: 'unverified', masterName: 'main', database: 1 },
        sentinels: [at('a', 26_379), at('b', 26_379)],
      },
    },
    wrong: [
      ...['http://cache', 'cache:6379', 'redis://', 'redis://cache:0', 'redis://cache:99999', 'redis://cache/x'],
      ...['redis://a,redis://:pw@b', 'redis://a/1,redis://b/1', 'redis+sentinel://a', 'redis://a,', 'redis://%@a'],
      ...['hunter2', 'redis://:hunter2', 'redis://hunter2@cache', 'redis://:hunter2@cache/x', 'redis://:a#b@cache'],
      'rediss://cache?rejectUnauthorized=false', // passed over, it could mean to trust more or less than is wanted
      'rediss://a,rediss://b?tls_verify=none&ssl_cert_reqs=none',
      'rediss+sentinel://a,b/main?sentinelPassword=hunter2',
      'rediss://cache?tls_verify=hunter2',
      'redis://cache?tls_verify=none', // would have no effect
      'rediss://:x?hunter2=@cache?tls_verify=none',
    ],
  },
  redisPrefix: { unset: '', same: ['shop:', 'x'.repeat(40)], wrong: ['{shop}', 'shop api:', 'shop*', 'x'.repeat(41)] },
  dataFolder: { unset: '.data', same: ['my data', '/srv/~'], wrong: ['~', '~/data', '$HOME/data'] },
  migrate: { unset: true, right: { on: true, off: false }, wrong: ['yes', 'true'] },
  publicBaseUrl: {
    same: ['https://api.example/v1'],
    wrong: [
      ...['https://api.example', 'https://api.example/v1/', 'https://api.example/v1?x', 'ftp://a/v1', '/v1'],
      'https://user:hunter2@api.example/v1',
    ],
  },
  stagingBaseUrl: {
    same: ['http://staging:8080/petstore/v1'],
    wrong: ['https://u:hunter2@api.example/v1', 'https://api.example/xv1#'],
  },
  corsOrigins: {
    unset: [],
    right: { 'https://a.example, http://b:3000': ['https://a.example', 'http://b:3000'] },
    wrong: [
      ...['*', 'shop.example', 'https://shop.example/', 'https://a.example,b'],
      'https://ok.example,https://user:hunter2@shop.example',
    ],
  },
  trustProxy: {
    unset: false,
    right: {
      true: true,
      off: false,
      1: 1,
      32: 32,
      '10.0.0.0/8, ::1,192.168.1.1': ['10.0.0.0/8', '::1', '192.168.1.1'],
    },
    wrong: ['on', '0', '33', '10.0.0.0/33', '10.0.0', '10.0.0.0/8/8', 'proxy'],
  },
  securityContact: {
    same: ['mailto:security@shop.example', 'https://shop.example/security'],
    wrong: ['security@shop.example', 'mailto:security', 'http://shop.example/security', 'mailto:a@b c', 'https://'],
  },
  supportContact: { same: ['mailto:api@shop.example'], wrong: ['api@shop.example', 'http://shop.example/support'] },
  statusPageUrl: {
    same: ['https://status.shop.example/'],
    wrong: ['mailto:status@shop.example', 'http://status.shop.example', 'status.shop.example'],
  },
  instances: { unset: 1, right: { 1: 1 }, wrong: ['0', '-1', '1.5', 'many', '10001'] },
  shutdownDelayMs: {
    unset: 0,
    right: { '15s': 15_000, '1h': HOURS_MS },
    wrong: ['5', '-1s', '500ms', '2h', '3601s', 'soon'],
  },
  shutdownTimeoutMs: { right: { '1s': 1_000, '1m': 60_000, '1h': HOURS_MS }, wrong: ['0s', '10', '2h'] },
  eventsRetentionMs: {
    unset: 30 * 24 * HOURS_MS,
    right: { '1s': 1_000, '15m': 900_000, '36500d': 36_500 * 24 * HOURS_MS },
    wrong: ['0s', '30', '500ms', '1.5h', '-1d', '36501d', '2w', 'forever'],
  },
  petsSunsetAt: {
    unset: new Date('2027-06-30T00:00:00Z'),
    right: {
      '2028-02-29': new Date('2028-02-29T00:00:00Z'),
      '2028-01-01T00:00:00+02:00': new Date('2027-12-31T22:00:00Z'),
    },
    wrong: ['soon', '2027-02-30', '2027-06-30T12:00', '30.06.2027'],
  },
  logLevel: { unset: 'info', same: ['fatal', 'debug', 'silent'], wrong: ['loud', 'INFO'] },
  logFormat: { same: ['pretty', 'json'], wrong: ['xml'] },
  accessLogLevel: { unset: 'debug', right: { on: 'info', off: 'debug' }, wrong: ['yes', '1'] },
};

const read = (environment: Record<string, string>) => readSettings(environment, settingsSchema);

/** What an error says of each wrong setting. */
function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    read(environment);
    return [];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    expect(error.message).not.toContain('hunter');
    const [title, ...problems] = error.message.split('\n  ');
    expect(title).toBe('Invalid settings:');
    return problems;
  }
}

/** The setting by itself, if the variable has this text. */
function readField(field: string, environment: Record<string, string>): unknown {
  const values: Readonly<Record<string, unknown>> = read(environment);
  return values[field];
}

describe.each(Object.entries<Row<unknown>>(SETTINGS))('%s', (field, { unset, right = {}, same = [], wrong }) => {
  const { variable, mustBe, isSecret = false } = textOf(settingsSchema.shape[field as keyof SettingValues]); // as typed

  test('has its default where it is not set, or blank, but a blank secret was not delivered', () => {
    expect(readField(field, {})).toEqual(unset);
    for (const blank of ['', ' ']) {
      if (!isSecret) expect(readField(field, { [variable]: blank })).toEqual(unset);
      else {
        const complaint = `${variable} is set but empty; give it a value, or unset it`;
        expect(problemsOf({ [variable]: blank })).toEqual([complaint]);
        const complaintOfFile = `${variable}_FILE is set but empty; it must be the path of a file, or be unset`;
        expect(problemsOf({ [`${variable}_FILE`]: blank })).toEqual([complaintOfFile]);
      }
    }
  });

  test('is understood', () => {
    for (const [text, value] of Object.entries(right)) {
      expect(readField(field, { [variable]: ` ${text}` }), text).toEqual(value);
    }
    for (const text of same) expect(readField(field, { [variable]: text })).toBe(text);
  });

  test('takes the bounds and examples of its description', () => {
    for (const [, ...texts] of mustBe.matchAll(/(\d\w*) to (\d\w*)|such as ([^\s,)]+)/g)) {
      for (const text of texts.filter((part) => part !== undefined)) {
        const environment = { ADMIN_PORT: '1', REDIS_URL: 'redis://cache', [variable]: text };
        expect(problemsOf(environment), text).toEqual([]);
      }
    }
  });

  test('that is wrong is named in one line, which says what would be right', () => {
    const texts = Array.isArray(wrong) ? wrong.map((text) => [text, '']) : Object.entries(wrong);
    for (const [text, said] of texts) {
      const [problem, ...others] = problemsOf({ [variable]: text });
      expect(problem, text).toMatch(new RegExp(`^${variable} is [^;\n]+; ${said}it must be [^\n]+$`));
      expect(problem?.endsWith(`; it must be ${mustBe}`)).toBe(true);
      expect(others).toEqual([]);
    }
  });
});

const ADMIN_PORT_OF_ITS_OWN = 'ADMIN_PORT is "8080"; it must be a port, or 0 for a free one, other than PORT';
const NO_DATABASE = 'DATABASE_URL is not set, and there is no embedded database in production; set DATABASE_URL';
test.each<[environment: Record<string, string>, problems: string[]]>([
  [{ PORT: '8080', ADMIN_PORT: '8080' }, [ADMIN_PORT_OF_ITS_OWN]],
  [{ PORT: '65535' }, ['ADMIN_PORT is not set, and PORT + 1 is not a valid port; set ADMIN_PORT']],
  [{ PORT: '65535', ADMIN_PORT: '9000' }, []],
  [
    { SHUTDOWN_DELAY: '10s', SHUTDOWN_TIMEOUT: '10s' },
    [
      'SHUTDOWN_TIMEOUT is not longer than SHUTDOWN_DELAY; requests need time to complete after the delay: set a longer one',
    ],
  ],
  [{ SHUTDOWN_DELAY: '10s', SHUTDOWN_TIMEOUT: '11s' }, []],
  [{ INSTANCES: '2' }, ['INSTANCES is 2, and several servers need one Redis to count limits together; set REDIS_URL']],
  [{ INSTANCES: '10000', REDIS_URL: 'redis://cache' }, []],
  ...['production', 'prod', 'Production', ' production '].map((NODE_ENV): [{ NODE_ENV: string }, string[]] => [
    { NODE_ENV },
    [NO_DATABASE],
  ]),
  [{ NODE_ENV: 'production', DATABASE_URL: 'postgres://db/x' }, []],
  [{ NODE_ENV: 'development' }, []],
  // All that is wrong is named, and nothing that is right.
  [
    { PORT: 'x', MIGRATE: 'z', LOG_LEVEL: 'info' },
    ['PORT is "x"; it must be a port, 0 to 65535 (0 takes a free one)', 'MIGRATE is "z"; it must be on or off'],
  ],
  [{ PORT: '8080', ADMIN_PORT: '8080', MIGRATE: 'z' }, ['MIGRATE is "z"; it must be on or off', ADMIN_PORT_OF_ITS_OWN]],
])('together %o have these problems: %j', (environment, problems) => {
  expect(problemsOf(environment)).toEqual(problems);
});

test('the command line reads only what says where data is kept', () => {
  const environment = { DATABASE_URL: 'postgres://db/x', MIGRATE: 'off', CORS_ORIGINS: 'bogus/x', PORT: 'http' };
  expect(readStorageSettings(environment, '/srv/shop')).toEqual({
    databaseUrl: 'postgres://db/x',
    redisPrefix: '',
    dataFolder: '/srv/shop/.data',
    migrate: false,
  });
});

test('a file may hold a secret', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'petstore-settings-'));
  const file = join(folder.path, 'database-url');
  const inFile = (content: string) => {
    writeFileSync(file, content);
    return { DATABASE_URL_FILE: file };
  };
  expect(read(inFile('postgres://u:hunter2@db/x\n')).databaseUrl).toBe('postgres://u:hunter2@db/x');
  expect(problemsOf({ DATABASE_URL_FILE: file, DATABASE_URL: 'postgres://db/x' })).toEqual([
    'DATABASE_URL and DATABASE_URL_FILE are both set; set one of them',
  ]);
  expect(problemsOf(inFile('mysql://u:hunter2@db/x'))).toEqual([
    expect.stringMatching(/^DATABASE_URL, in the file of DATABASE_URL_FILE, is mysql:.* it must be postgres:/),
  ]);
  expect(problemsOf(inFile(' \n'))).toEqual([
    `DATABASE_URL_FILE is "${file}", which is empty; it must contain the value of DATABASE_URL`,
  ]);
  expect(problemsOf({ REDIS_URL_FILE: join(folder.path, 'nothing') })).toEqual([
    expect.stringMatching(/^REDIS_URL_FILE is ".*nothing", which cannot be read: no such file or folder$/),
  ]);
});
