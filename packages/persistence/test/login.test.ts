import { chownSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { getSystemErrorMessage } from 'node:util';
import { type PrivatePostgres, SELF_SIGNED, startPostgresServer } from '@petstore/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { describeStorageFailure, openPersistence } from '../src/index.ts';
import { openClient, reasonOf, runSql, WAYS, type Way } from './support.ts';

let server: PrivatePostgres;

beforeAll(async () => {
  server = await startPostgresServer();
  const { uid, gid } = statSync(server.cluster.folder);
  for (const [name, content] of [
    ['server.key', SELF_SIGNED.key],
    ['server.crt', SELF_SIGNED.cert],
  ] as const) {
    const file = join(server.cluster.folder, name);
    writeFileSync(file, content, { mode: 0o600 });
    chownSync(file, uid, gid);
  }
  for (const statement of [
    'alter system set ssl = on',
    'select pg_reload_conf()',
    'create database closed allow_connections false',
    `create database latin encoding 'LATIN1' locale 'C' template template0`,
  ]) {
    await runSql(server.url, statement);
  }
});
afterAll(() => server[Symbol.asyncDispose]());

type Change = Partial<Pick<URL, 'hostname' | 'password' | 'pathname' | 'port' | 'search' | 'username'>>;

const urlWith = (change: Change): URL => Object.assign(new URL(server.url), change);

test.each<[string, Change]>([
  ['PostgreSQL is unavailable (connection refused, ECONNREFUSED)', { port: '1' }], // which the system assigns to none
  ['PostgreSQL rejects the login (wrong password)', { password: 'secret' }],
  ['PostgreSQL rejects the login (wrong password)', { username: 'secret-user' }],
  ['PostgreSQL rejects the login (missing or unusable password)', { password: '' }],
  ['PostgreSQL has no such database', { pathname: '/secret' }],
  ['PostgreSQL accepts no connections to this database', { pathname: '/closed' }],
  [
    `PostgreSQL is not available: the encoding of the database is LATIN1, which cannot store every text; UTF8 is required (create database ... encoding 'UTF8')`,
    { pathname: '/latin' },
  ],
  ['the certificate of PostgreSQL is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)', { search: '?sslmode=verify-full' }],
])('each call fails with a phrase, without a secret: %s', async (phrase, change) => {
  const { href } = urlWith(change);
  await using persistence = openPersistence({ databaseUrl: href, patienceMs: 10_000 }); // also on a busy machine
  const reasons = await Promise.all(Object.values<Way>(WAYS).map((way) => reasonOf(way(persistence))));
  expect(new Set(reasons)).toEqual(new Set([phrase]));
});

test('that a password is missing is said to callers, too', async () => {
  await using persistence = openPersistence({ databaseUrl: urlWith({ password: '' }).href });
  await expect(persistence.ping()).rejects.toThrow(
    /^PostgreSQL is not available: it requires a password, and none was given$/,
  );
});

test.each(['EACCES', 'EMFILE', 'ENETUNREACH'] as const)('%s is told in the words of the system', (code) => {
  const error = Object.assign(new Error('secret'), { code, errno: -constants.errno[code] });
  expect(describeStorageFailure(error)).toBe(
    `PostgreSQL is unavailable (${getSystemErrorMessage(error.errno)}, ${code})`,
  );
});

test.each(['without a look at the certificate', 'with its certificate verified'])(
  'connects by TLS, %s',
  async (how) => {
    const certificate = join(server.cluster.folder, 'server.crt');
    const url = urlWith(
      how === 'with its certificate verified'
        ? { hostname: 'localhost', search: `?sslmode=verify-full&sslrootcert=${certificate}` } // whom it names
        : { search: '?sslmode=no-verify' },
    );
    await using persistence = openPersistence({ databaseUrl: url.href });
    await persistence.ping();
    await using client = await openClient(server.url);
    const { rows } = await client.query(
      `select distinct ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'petstore'`,
    );
    expect(rows).toEqual([{ ssl: true }]);
  },
);

test.each([
  ['require', 'SCRAM-SHA-256-PLUS'],
  ['disable', 'SCRAM-SHA-256'],
])('with channel_binding=%s the login is by %s', async (value, mechanism) => {
  const written = vi.spyOn(TLSSocket.prototype, 'write');
  const { href } = urlWith({ search: `?sslmode=no-verify&channel_binding=${value}` });
  await using persistence = openPersistence({ databaseUrl: href });
  await persistence.ping();
  const named = written.mock.calls.map(([data]) => /SCRAM-SHA-256(?:-PLUS)?/.exec(String(data))?.[0]).filter(Boolean);
  written.mockRestore();
  expect(new Set(named)).toEqual(new Set([mechanism]));
});
