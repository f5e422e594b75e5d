import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { openPersistence } from '@petstore/persistence';
import { createTestDatabase, createTestRedis } from '@petstore/testing';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { SpawnedServer, useDataFolder } from '../support/spawned-server.ts';

/** Expects the server to exit with a code, and with one actionable line on standard error. */
async function expectRefusal(server: SpawnedServer, code: number, line: RegExp): Promise<void> {
  const exit = await server.exited;
  expect(server.stderr).toMatch(line);
  expect(server.stderr.trim().split('\n'), 'one line').toHaveLength(1);
  expect(server.stderr).not.toMatch(/^\s+at /m);
  expect(exit).toMatchObject({ code });
  expect(server.stdout).not.toContain('listening on');
  expect(server.children()).toEqual([]);
}

async function occupyPort(): Promise<{ port: number; server: Server } & Disposable> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP listener
  return { port, server, [Symbol.dispose]: () => server.close() };
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

describe('settings', () => {
  test('that are wrong are all named in one message, with exit code 2', async () => {
    using folder = useDataFolder();
    await using server = new SpawnedServer(folder.path, { PORT: 'http', MIGRATE: 'maybe', REDIS_URL: 'x:hunter2' });
    expect(await server.exited).toMatchObject({ code: 2 });
    expect(server.stderr.trim().split('\n')).toEqual([
      'Invalid settings:',
      expect.stringMatching(/^ {2}PORT is "http"; it must be a port/),
      expect.stringMatching(/^ {2}REDIS_URL is something/),
      expect.stringMatching(/^ {2}MIGRATE is "maybe"; it must be on or off/),
    ]);
    expect(server.stderr).not.toContain('hunter2');
    expect(server.stdout).toBe('');
    expect(existsSync(folder.path)).toBe(false);
  });
});

describe('a port that is in use is reported in one line', () => {
  test('the public one', async () => {
    using folder = useDataFolder();
    using other = await occupyPort();
    await using server = new SpawnedServer(folder.path, { PORT: String(other.port), ADMIN_PORT: '0' });
    await expectRefusal(server, 1, new RegExp(`^petstore: Port ${other.port} of 127.0.0.1 is in use\\. .*set PORT`));
  });

  test('the admin one', async () => {
    using folder = useDataFolder();
    using other = await occupyPort();
    await using server = new SpawnedServer(folder.path, { ADMIN_PORT: String(other.port) });
    await expectRefusal(server, 1, new RegExp(`^petstore: Port ${other.port} .* is in use\\. .*set ADMIN_PORT`));
  });
});

test('a host that is not of this machine is reported in one line', async () => {
  using folder = useDataFolder();
  await using server = new SpawnedServer(folder.path, { HOST: 'fe80::1' });
  await expectRefusal(server, 1, /^petstore: fe80::1 is not an address of this machine\. Set HOST/);
  await using admin = new SpawnedServer(folder.path, { ADMIN_HOST: '192.0.2.1' });
  await expectRefusal(admin, 1, /^petstore: 192\.0\.2\.1 is not an address of this machine\. Set ADMIN_HOST/);
});

test('a DATA_DIR that cannot be written to is reported in one line', async () => {
  using folder = useDataFolder();
  writeFileSync(folder.path, '');
  await using server = new SpawnedServer(folder.path);
  await expectRefusal(
    server,
    1,
    /^petstore: The data folder .+ cannot be written to \(.+\)\. Set DATA_DIR to another\./,
  );
});

describe('a database', () => {
  test('of a newer version is not changed', async () => {
    using folder = useDataFolder();
    await using database = await createTestDatabase();
    await using redis = await createTestRedis();
    {
      await using persistence = openPersistence({ databaseUrl: database.url });
      await persistence.migrations.migrate();
    }
    await query(database.url, `INSERT INTO schema_migrations (name) VALUES ('9999-from-the-future')`);
    const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url };
    await using server = new SpawnedServer(folder.path, environment);
    await expectRefusal(server, 1, /^petstore: .*newer version.*9999-from-the-future/);
  });

  test('of an older version is not changed when MIGRATE is off', async () => {
    using folder = useDataFolder();
    await using database = await createTestDatabase();
    await using redis = await createTestRedis();
    const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url, MIGRATE: 'off' };
    await using server = new SpawnedServer(folder.path, environment);
    await expectRefusal(server, 1, /^petstore: the database lacks migrations \(0001.*MIGRATE is off/);
    await using persistence = openPersistence({ databaseUrl: database.url });
    expect((await persistence.migrations.status()).applied).toEqual([]);
  });
});
