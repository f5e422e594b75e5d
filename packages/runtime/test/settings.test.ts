import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { expect, test } from 'vitest';
import { connectTimeoutMs, readStorageSettings, SettingsError } from '../src/settings.ts';

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

const read = (url: string) => readStorageSettings({ DATABASE_URL: url }, '/').databaseUrls;

test.each([
  ['postgres://u:p@db/x', ['postgres://u:p@db/x']],
  ['postgresql://u:p@ss@db:5433/x?sslmode=verify-full', ['postgresql://u:p@ss@db:5433/x?sslmode=verify-full']],
  [
    'postgres://u:p@a,b,[::1]:5/x?target_session_attrs=read-write&application_name=shop',
    ['a', 'b', '[::1]:5'].map((place) => `postgres://u:p@${place}/x?application_name=shop`),
  ],
  ['postgres://u@/x?host=a,b&port=1,2', ['postgres://u@a:1/x', 'postgres://u@b:2/x']],
  ['postgres://u:p@/x?host=/run/postgresql', ['postgres://u:p@localhost/x?host=%2Frun%2Fpostgresql']],
  ['postgres://u@/x', ['postgres://u@localhost/x']],
  // Parameters are the business of the driver.
  ['postgres://db/x?sslmode=no-verify&schema=public', ['postgres://db/x?sslmode=no-verify&schema=public']],
])('%s leads to %j', (text, urls) => {
  expect(read(text)).toEqual(urls);
});

test.each([
  'mysql://db/x',
  'postgres://a:1,b:2:3/x',
  'postgres://a:0/x',
  'postgres://a,,b/x',
  'postgres://[::1/x',
  'postgres://a%2Fb/x',
  'postgres:///x?host=a,b&port=1,2,3',
  'postgres://a,b/x?target_session_attrs=standby',
])('%s is no address of a database that takes writes', (text) => {
  expect(() => read(text)).toThrow(/\n {2}DATABASE_URL is [^\n]+; it must be the address of a PostgreSQL database/);
});

test.each([
  ['postgres://u:hunter%de2@a/x', /it contains an invalid escape; a percent sign .* must be written as %25$/],
  ['postgres://u%ff:hunter2@a/x', /it contains an invalid escape; a percent sign .* must be written as %25$/],
  ['postgres://u:hunter2@a/x?sslmod=verify-full', /a parameter is misspelt; it must be sslmode$/],
  ['postgres://u:hunter2@a/x?connect_timout=3', /a parameter is misspelt; it must be connect_timeout$/],
  ['postgres://u:hunter2@a/x?connect_timeout=3s', /its connect_timeout must be a whole number of seconds$/],
  ['postgres://u:hunter2@a/x?sslmode=on', /its sslmode must be one of disable, verify-full, /],
  ['postgres://u:hunter2@a/x?uselibpqcompat=true&sslmode=verify-ca', /for TLS cannot be used: .* with sslrootcert/],
  ['postgres://u:12/hunter2@a/x', /it contains an @ after the host; .* must be written as %2F %3F %23$/],
  ['postgres://u:12?hunter2@a/x', /it contains an @ after the host; .* must be written as %2F %3F %23$/],
  ['postgres://u:hunter2@a/x?SSLMODE=verify-full', /a parameter is misspelt; it must be sslmode$/],
  ['postgres://u:hunter2@a/x?sslmode=verify-full&sslmode=disable', /it has the parameter sslmode twice/],
  [
    'postgres://u:hunter2@a/x?dbname=y',
    /its parameter dbname has no effect; name the database before the question mark/,
  ],
  [
    'postgres://u:hunter2@a/x?ssl=false',
    /its ssl must be true or 0; better is sslmode=verify-full, or sslmode=disable$/,
  ],
  [
    'postgres://u:hunter2@a/x?sslmode=disable&sslrootcert=/ca.pem',
    /sslmode=disable and sslrootcert; remove one of them/,
  ],
  ['postgres://u:hunter2@a/x?sslkey=/key.pem', /sslcert and sslkey must be set together$/],
  ['postgres://u:hunter2@a/x?sslrootcert=system', /remove sslrootcert=system/],
  ['postgres://u:hunter2@a,b/x?sslrootcert=/no/ca.pem', /names the file \/no\/ca\.pem, .*: no such file/],
])('%s is refused before anything connects, with what would be right', (text, problem) => {
  expect(() => read(text)).toThrow(problem);
  expect(() => read(text)).not.toThrow(/hunter/);
});

/** A certificate of a client and its key, valid until 2126. */
const VALID = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBPDCB76ADAgECAhQrqGLeZuHZ+aScztfxcEvmAuvNczAFBgMrZXAwEzERMA8G
A1UEAwwIcGV0c3RvcmUwIBcNMjYxMTI2MjEyODEwWhgPMjEyNjExMDIyMTI4MTBa
MBMxETAPBgNVBAMMCHBldHN0b3JlMCowBQYDK2VwAyEAawc46Vq2wUyGrt1r2uCO
2vmsyoYS2fd2+qAsSgAB4jCjUzBRMB0GA1UdDgQWBBRnaiHH2yy8bq+ACTSlT9Q0
cm+UfTAfBgNVHSMEGDAWgBRnaiHH2yy8bq+ACTSlT9Q0cm+UfTAPBgNVHRMBAf8E
BTADAQH/MAUGAytlcANBANendilBl4A5WsWyCmLHHWU4BH/Ic112nlfpwTQFUUyl
d+ThxWN4gzGUf+fceIMeoXQl+oNPStkQ5zpZejjHHAw=
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIFVLLsI6zAlEWDOj18veLhXr5BzAooQ2syytmftK3/AK
-----END PRIVATE KEY-----
`,
};

/** Another one, which was valid in January 2020. */
const EXPIRED = {
  cert: `-----BEGIN CERTIFICATE-----
MIHNMIGAAgEBMAUGAytlcDATMREwDwYDVQQDDAhwZXRzdG9yZTAeFw0yMDAxMDEw
MDAwMDBaFw0yMDAyMDEwMDAwMDBaMBMxETAPBgNVBAMMCHBldHN0b3JlMCowBQYD
K2VwAyEAqakm/Adizy50Va+8zaP+SgR6j8VNPfY4EVCAmuvIzBAwBQYDK2VwA0EA
Yv/D1Dy8jrYZZWdfH2kh6AH6nyUeNIvijbbRX3bGFj2hh9gIFe6rlDVfX/sXhID9
k6bXJQoC7EzyPCD/msHlAw==
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEILm6G+h8pCAAADSpJqYg6yi485uSQUoAnuzSfvFZ5y8y
-----END PRIVATE KEY-----
`,
};

test('files of certificates and keys are looked at before anything connects', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'petstore-settings-'));
  const fileOf = (name: string, content: string) => {
    const file = join(folder.path, name);
    writeFileSync(file, content);
    return file;
  };
  const certificates = fileOf('certificates.pem', rootCertificates.slice(0, 2).join('\n'));
  const filesOf = (name: string, { cert, key }: typeof VALID) => ({
    cert: fileOf(`${name}.pem`, cert),
    key: fileOf(`${name}.key`, key),
  });
  const valid = filesOf('valid', VALID);
  const expired = filesOf('expired', EXPIRED);
  const url = (parameters: string) => `postgres://db/x?sslmode=verify-full&${parameters}`;
  for (const parameters of [`sslrootcert=${certificates}`, `sslcert=${valid.cert}&sslkey=${valid.key}`]) {
    expect(read(url(parameters))).toEqual([url(parameters.replaceAll('/', '%2F'))]);
  }
  for (const [parameters, problem] of [
    [`sslcert=${valid.key}&sslkey=${valid.key}`, /its parameters for TLS cannot be used: ./],
    [`sslcert=${valid.cert}&sslkey=${certificates}`, /its parameters for TLS cannot be used: ./],
    [`sslrootcert=${valid.key}`, /its parameters for TLS cannot be used: ./],
    [`sslcert=${valid.cert}&sslkey=${expired.key}`, /its sslkey does not match its sslcert$/],
    [`sslcert=${expired.cert}&sslkey=${expired.key}`, /its sslcert has expired \(.+\)$/],
  ] as const) {
    expect(() => read(url(parameters)), parameters).toThrow(problem);
  }
});

test.each([
  ['postgres://a/x', undefined],
  ['postgres://a/x?connect_timeout=0', undefined],
  ['postgres://a,b/x?connect_timeout=30', 30_000],
])('%s: a connection is waited for %s ms', (url, milliseconds) => {
  expect(connectTimeoutMs(read(url) ?? ['postgres://a/x'])).toBe(milliseconds);
});
