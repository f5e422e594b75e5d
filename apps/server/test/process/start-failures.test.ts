import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { openPersistence } from '@petstore/persistence';
import { createTestDatabase, createTestRedis } from '@petstore/testing';
import { expect, test } from 'vitest';
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

test('settings that are wrong are all named in one message, with exit code 2', async () => {
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

test('a port that is in use is reported in one line, which is JSON with LOG_FORMAT=json', async () => {
  using folder = useDataFolder();
  using other = await occupyPort();
  const environment = { PORT: String(other.port), ADMIN_PORT: '0', LOG_FORMAT: 'json' };
  await using server = new SpawnedServer(folder.path, environment);
  await expectRefusal(server, 1, /^{.*}$/m);
  expect(JSON.parse(server.stderr)).toEqual({
    level: 'fatal',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    msg: expect.stringMatching(`^petstore: Port ${other.port} of 127.0.0.1 is in use\\. .*set PORT`),
  });
  expect(server.stdout).toBe('');
});

test('a database of an older version is not changed when MIGRATE is off', async () => {
  using folder = useDataFolder();
  await using database = await createTestDatabase();
  await using redis = await createTestRedis();
  const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url, MIGRATE: 'off' };
  await using server = new SpawnedServer(folder.path, environment);
  await expectRefusal(server, 1, /^petstore: the database lacks migrations \(0001.*MIGRATE is off/);
  await using persistence = openPersistence({ databaseUrl: database.url });
  expect((await persistence.migrations.status()).applied).toEqual([]);
});
