import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { expect, test } from 'vitest';
import { connectTimeoutMs, readStorageSettings } from '../src/settings.ts';
import { EXPIRED, VALID } from './client-certificates.ts';

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
