import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { constants } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { getSystemErrorMessage } from 'node:util';
import { orderId, StorageUnavailableError } from '@petstore/domain';
import { type PrivatePostgres, SELF_SIGNED, startPostgresServer } from '@petstore/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Database } from '../src/database/database.ts';
import type { ImportItem } from '../src/import-rows.ts';
import { describeStorageFailure, openPersistence } from '../src/index.ts';
import { createUnitsOfWork } from '../src/schema/units-of-work.ts';
import { importOrders, NOW, pendingOrder, UNKNOWN_KEY_ID, useTestStore } from './support.ts';

const store = useTestStore();

describe('PostgreSQL is not said to be unavailable', () => {
  test.each([
    ['a plain error', new Error('the file ended early')],
    ['one of the system', Object.assign(new Error('the share is gone'), { code: 'ECONNRESET' })],
  ])('when the source of an import fails with %s', async (_, error) => {
    async function* failing(): AsyncGenerator<ImportItem<ReturnType<typeof pendingOrder>>> {
      yield { line: 1, value: pendingOrder(1n) };
      throw error;
    }
    await expect(store.persistence.orders.importOrders(failing())).rejects.toBe(error);
    expect(await store.persistence.orders.countOrders()).toBe(0);
  });

  test('when our own code fails, before or after a statement of the ORM', async () => {
    const error = new Error('a defect');
    const database = new Database({ databaseUrl: store.url });
    const fail = (statement: string | undefined) =>
      createUnitsOfWork(database).change(async (em) => {
        if (statement !== undefined) await em.execute(statement);
        throw error;
      });
    await expect(fail(undefined)).rejects.toBe(error);
    await expect(fail('select 1')).rejects.toBe(error);
    await database.close();
  });

  test('when a value cannot be written or read', async () => {
    const { orders, keyAdministration } = store.persistence;
    const key = { id: UNKNOWN_KEY_ID, name: 'test', kind: 'external', readOnly: false, createdAt: NOW } as const;
    const withoutPlan = { ...key, plan: undefined as never }; // the defect
    await expect(keyAdministration.createKey(withoutPlan, randomBytes(32))).rejects.toThrow(TypeError);
    await store.query('alter table orders alter placed_at type timestamptz(6)');
    await importOrders(store, [pendingOrder(1n)]);
    await store.query(`update orders set placed_at = placed_at + interval '1 microsecond'`);
    const failure: unknown = await orders.findOrder(orderId(1n)).catch((error) => error);
    expect(failure).not.toBeInstanceOf(StorageUnavailableError);
    expect(String(failure)).toContain('not a time as this schema stores it: 2026-03-04 05:06:07.089001+00');
    expect(await orders.findOrder(orderId(2n))).toBeUndefined();
  });
});

describe('PostgreSQL is said to be unavailable', () => {
  const endOwnSession = 'select pg_terminate_backend(pg_backend_pid())';

  test('when the server ends the session of an import', async () => {
    async function* ending(): AsyncGenerator<ImportItem<ReturnType<typeof pendingOrder>>> {
      yield { line: 1, value: pendingOrder(1n) };
      await expect
        .poll(async () => {
          const { rows } = await store.query(
            `select pg_terminate_backend(pid) from pg_stat_activity where query like 'copy staged%' and datname = current_database()`,
          );
          return rows.length;
        })
        .toBe(1);
      for (let i = 2n; i < 100_000n; i++) yield { line: Number(i), value: pendingOrder(i) };
    }
    await expect(store.persistence.orders.importOrders(ending())).rejects.toThrow(StorageUnavailableError);
  });

  test('when the server ends the session of the ORM, whatever statement follows', async () => {
    const database = new Database({ databaseUrl: store.url });
    const lose = (statements: readonly string[]) =>
      createUnitsOfWork(database).change(async (em) => {
        for (const statement of statements) await em.execute(statement).catch(() => {});
        await em.execute('select 1');
      });
    await expect(lose([endOwnSession])).rejects.toThrow(StorageUnavailableError);
    await expect(lose([endOwnSession, 'select 1'])).rejects.toThrow(StorageUnavailableError);
    await database.close();
  });
});

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
  await sql(
    'alter system set ssl = on',
    'select pg_reload_conf()',
    'create role guest login',
    'create database idle',
    'create database closed allow_connections false',
    `create database latin encoding 'LATIN1' locale 'C' template template0`,
  );
});
afterAll(() => server[Symbol.asyncDispose]());

async function sql(...statements: readonly string[]): Promise<void> {
  const client = new pg.Client(server.url);
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

async function rows(query: string): Promise<readonly unknown[]> {
  const client = new pg.Client(server.url);
  await client.connect();
  try {
    return (await client.query(query)).rows;
  } finally {
    await client.end();
  }
}

/** Why a ping of PostgreSQL fails. */
async function reasonAt(change: (url: URL) => void): Promise<string> {
  const url = new URL(server.url);
  change(url);
  await using persistence = openPersistence({ databaseUrl: url.href });
  const reason = await persistence.ping().then(() => 'none', describeStorageFailure);
  for (const secret of [url.password, url.username, 'secret'].filter((text) => text !== ''))
    expect(reason).not.toContain(secret);
  return reason;
}

test.each<[string, (url: URL) => void]>([
  ['PostgreSQL is unavailable (connection refused, ECONNREFUSED)', (url) => Object.assign(url, { port: '1' })],
  ['PostgreSQL rejects the login (wrong password)', (url) => Object.assign(url, { password: 'secret' })],
  ['PostgreSQL rejects the login (wrong password)', (url) => Object.assign(url, { username: 'secret-user' })],
  ['PostgreSQL has no such database', (url) => Object.assign(url, { pathname: '/secret' })],
  ['PostgreSQL rejects the login (missing or unusable password)', (url) => Object.assign(url, { password: '' })],
  ['PostgreSQL accepts no connections to this database', (url) => Object.assign(url, { pathname: '/closed' })],
  [
    `PostgreSQL is not available: the encoding of the database is LATIN1, which cannot store every text; UTF8 is required (create database ... encoding 'UTF8')`,
    (url) => Object.assign(url, { pathname: '/latin' }),
  ],
  [
    'the certificate of PostgreSQL is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)',
    (url) => url.searchParams.set('sslmode', 'verify-full'),
  ],
])('says in a phrase, and without a secret: %s', async (phrase, change) => {
  expect(await reasonAt(change)).toBe(phrase);
});

test.each([
  ['without a look at the certificate', (url: URL) => url.searchParams.set('sslmode', 'no-verify')],
  [
    'with its certificate verified',
    (url: URL) => {
      url.hostname = 'localhost'; // whom it names
      url.searchParams.set('sslmode', 'verify-full');
      url.searchParams.set('sslrootcert', join(server.cluster.folder, 'server.crt'));
    },
  ],
])('connects by TLS, %s', async (_, change) => {
  const url = new URL(server.url);
  change(url);
  await using persistence = openPersistence({ databaseUrl: url.href });
  await persistence.ping();
  const connections = await rows(
    `select ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'petstore'`,
  );
  expect(connections.length).toBeGreaterThan(0);
  expect(connections).not.toContainEqual({ ssl: false });
});

test.each([
  ['require', 'SCRAM-SHA-256-PLUS'],
  ['disable', 'SCRAM-SHA-256'],
])('with channel_binding=%s the login is by %s', async (value, mechanism) => {
  const url = new URL(server.url);
  url.searchParams.set('sslmode', 'no-verify');
  url.searchParams.set('channel_binding', value);
  const written = vi.spyOn(TLSSocket.prototype, 'write');
  await using persistence = openPersistence({ databaseUrl: url.href });
  await persistence.ping();
  const named = written.mock.calls.map(([data]) => /SCRAM-SHA-256(?:-PLUS)?/.exec(String(data))?.[0]).filter(Boolean);
  written.mockRestore();
  expect(new Set(named)).toEqual(new Set([mechanism]));
});

test('says that PostgreSQL is hung if it accepts a connection and no more, and then no caller waits for that again', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo; // what a TCP server that listens has
  await using persistence = openPersistence({ databaseUrl: `postgres://petstore@127.0.0.1:${port}/petstore` });
  const find = () => persistence.orders.findOrder(orderId(1n)).then(() => 'found', describeStorageFailure);
  expect(await find()).toBe('PostgreSQL is hung (not responding)');
  const begin = performance.now();
  for (let i = 0; i < 20; i++) expect(await find()).toBe('PostgreSQL is hung (not responding)');
  expect(performance.now() - begin).toBeLessThan(20_000); // each would wait for two seconds
  silent.close();
});

async function connectOrNothing({ href }: URL): Promise<pg.Client | undefined> {
  const client = new pg.Client(href);
  return client.connect().then(
    () => client,
    () => undefined,
  );
}

test('says that there is no room if requests get no connection, until there is', async () => {
  await sql(`alter role guest password 'guessed' connection limit 2`);
  const url = Object.assign(new URL(server.url), { username: 'guest', password: 'guessed', pathname: '/idle' });
  await using persistence = openPersistence({ databaseUrl: url.href });
  await persistence.ping();
  // The ping opened a second connection, which is counted until the server has ended it.
  const other = await vi.waitUntil(() => connectOrNothing(url), { timeout: 10_000 });
  await expect(persistence.orders.findOrder(orderId(1n))).rejects.toThrow(StorageUnavailableError);
  expect(await persistence.ping().then(() => 'none', describeStorageFailure)).toBe(
    'PostgreSQL has too many connections',
  );
  await other.end();
  await expect.poll(() => persistence.ping().then(() => 'none', describeStorageFailure)).toBe('none');
});

test('says that the login is refused if requests get no connection, although a session from before responds', async () => {
  await sql(`alter role guest password 'guessed' connection limit -1`);
  const url = Object.assign(new URL(server.url), { username: 'guest', password: 'guessed', pathname: '/idle' });
  await using persistence = openPersistence({ databaseUrl: url.href });
  const find = () => persistence.orders.findOrder(orderId(1n)).then(() => 'found', describeStorageFailure);
  expect(await find()).toBe('PostgreSQL lacks the schema (a table is missing)');
  await sql(
    `alter role guest password 'rotated'`,
    `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'guest' and query like '%from "orders"%'`,
  );
  await expect.poll(find).toBe('PostgreSQL rejects the login (wrong password)');
  await expect
    .poll(() => persistence.ping().then(() => 'none', describeStorageFailure))
    .toBe('PostgreSQL rejects the login (wrong password)');
  await sql(`alter role guest password 'guessed'`);
  await expect.poll(find).toBe('PostgreSQL lacks the schema (a table is missing)');
  await persistence.ping();
});

test('says that a server is read-only', async () => {
  await sql('alter database idle set default_transaction_read_only = on');
  expect(await reasonAt((url) => Object.assign(url, { pathname: '/idle' }))).toBe(
    'PostgreSQL is read-only (it is a standby, or was made read-only)',
  );
});

test.each([
  ['53100', /out of disk space/],
  ['53200', /out of memory/],
  ['53400', /has reached a limit of its configuration/],
  ['57P03', /starting up or shutting down/],
  ['57P04', /was dropped/],
  ['58030', /read or write its disk/],
])('has words for %s, so that no bare code is shown', (code, words) => {
  expect(describeStorageFailure(Object.assign(new Error('secret'), { code }))).toMatch(words);
});

test.each(['EACCES', 'EMFILE', 'ENETUNREACH'] as const)('has the words of the system for %s', (code) => {
  const error = Object.assign(new Error('secret'), { code, errno: -constants.errno[code] });
  expect(describeStorageFailure(error)).toBe(
    `PostgreSQL is unavailable (${getSystemErrorMessage(error.errno)}, ${code})`,
  );
});

test('says in words that a password is missing, to callers too', async () => {
  const url = Object.assign(new URL(server.url), { password: '' });
  await using persistence = openPersistence({ databaseUrl: url.href });
  await expect(persistence.ping()).rejects.toThrow(
    /^PostgreSQL is not available: it requires a password, and none was given$/,
  );
});
