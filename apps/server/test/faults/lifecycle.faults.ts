import { openEmbeddedPostgres } from '@petstore/runtime';
import { createTestRedis, PATIENTLY } from '@petstore/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createServerDatabase } from '../support/database.ts';
import {
  isRunning,
  listOrderIds,
  readDemoKeys,
  SpawnedServer,
  useDataFolder,
  useStartedDataFolder,
} from '../support/spawned-server.ts';
import { query } from './support/stored-order.ts';

/** After this time a server that has not ended exits. */
const SHUTDOWN_DEADLINE_MS = 9_000;

const copyStarted = useStartedDataFolder();

describe('while a server with a database of its own runs', () => {
  const resources = new AsyncDisposableStack();
  let folder: ReturnType<typeof copyStarted>;
  let first: SpawnedServer;
  beforeAll(async () => {
    folder = resources.use(copyStarted());
    first = resources.use(new SpawnedServer(folder.path));
    await first.url();
  });
  afterAll(() => resources.disposeAsync());

  // Those that end by themselves are not disposed of: on the same data folder that would end the first one's database.

  test('a second one on the same data folder ends, and says why in one line', async () => {
    const second = new SpawnedServer(folder.path);
    expect(await second.exited).toMatchObject({ code: 1 });
    expect(second.stderr).toBe(
      `petstore: Another server already runs on the data folder ${folder.path}. Stop it, or set DATA_DIR to another.\n`,
    );
    expect((await first.readiness()).status).toBe(200);
  });

  test('one that would share its port ends, and says why in one line', async () => {
    using other = useDataFolder();
    await using database = await createServerDatabase();
    await using redis = await createTestRedis();
    const { port } = new URL(await first.url());
    const environment = { DATABASE_URL: database.url, REDIS_URL: redis.url, REUSE_PORT: 'on', PORT: port };
    await using sharing = new SpawnedServer(other.path, { ...environment, ADMIN_PORT: '0' });
    expect(await sharing.exited).toMatchObject({ code: 1 });
    expect(sharing.stderr).toMatch(
      new RegExp(
        `^petstore: Port ${port} of 127.0.0.1 is in use by a process that does not share it .*set PORT to another\\.\n$`,
      ),
    );
    expect((await first.readiness()).status).toBe(200);
  });

  test('one that would share its data folder ends, and says why in one line', async () => {
    const sharing = new SpawnedServer(folder.path, { REUSE_PORT: 'on', REDIS_URL: 'redis://127.0.0.1:1' });
    expect(await sharing.exited).toMatchObject({ code: 1 });
    expect(sharing.stderr).toMatch(/^petstore: Another server already runs on the data folder .*\n$/);
    expect((await first.readiness()).status).toBe(200);
  });

  test('SIGINT ends it with 0, soon, and leaves no process', () => expectEndBy('SIGINT', first));
});

async function expectEndBy(signal: NodeJS.Signals, server: SpawnedServer): Promise<void> {
  const children = server.children();
  expect(children).toHaveLength(1);
  const { code, afterMs } = await server.stop(signal);
  expect(code, server.stderr).toBe(0);
  expect(afterMs).toBeLessThan(10_000);
  expect(children.filter(isRunning)).toEqual([]);
}

test('a server whose database is killed says so, is not ready, and ends with 0; the next one has all data', async () => {
  using folder = copyStarted();
  const keys = readDemoKeys(folder.path);
  {
    await using server = new SpawnedServer(folder.path);
    await server.url();
    const [postgres = Number.NaN] = server.children();
    process.kill(postgres, 'SIGKILL');
    await server.said(
      /"level":"error".*the embedded PostgreSQL was killed and is not restarted automatically: restart this server/,
    );
    await vi.waitFor(async () => expect((await server.readiness()).status).toBe(503), PATIENTLY);
    expect(JSON.stringify((await server.readiness()).report)).toMatch(/PostgreSQL is unavailable \(.+\)/);
    const { code, afterMs } = await server.stop();
    expect(code, server.stderr).toBe(0);
    expect(afterMs).toBeLessThan(10_000);
    expect(server.children()).toEqual([]);
  }
  await using next = new SpawnedServer(folder.path);
  expect(await listOrderIds(await next.url(), keys.get('enterprise'))).toHaveLength(20);
});

/** Waits until PostgreSQL knows of the server, so that it is not stopped when the last command leaves. */
async function untilJoinedBy(server: SpawnedServer, databaseUrl: string): Promise<void> {
  const lockOfServer = `select pid from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock' and granted`;
  await vi.waitFor(async () => expect(await query(databaseUrl, lockOfServer)).toHaveLength(1), PATIENTLY);
  await vi.waitFor(async () => expect((await server.readiness()).status).toBe(200), PATIENTLY);
}

test('a server whose database was killed uses it again once a command has started it', async () => {
  using folder = copyStarted();
  const keys = readDemoKeys(folder.path);
  await using server = new SpawnedServer(folder.path);
  const url = await server.url();
  const [postgres = Number.NaN] = server.children();
  process.kill(postgres, 'SIGKILL');
  await server.said(/the embedded PostgreSQL was killed/);
  const command = await openEmbeddedPostgres(folder.path);
  await untilJoinedBy(server, command.url);
  await command.release();
  expect(await listOrderIds(url, keys.get('enterprise'))).toHaveLength(20);
  expect((await server.stop()).code, server.stderr).toBe(0);
});

test('Ctrl-C in a terminal, twice, ends it with 0 too', async () => {
  using folder = copyStarted();
  await using server = new SpawnedServer(folder.path);
  await server.url();
  const children = server.children();
  const [postgres = Number.NaN] = children;
  process.kill(postgres, 'SIGSTOP'); // until the second signal the end cannot come
  process.kill(-server.pid, 'SIGINT'); // the whole process group, as a terminal does
  await server.said(/"msg":"stopping"/);
  process.kill(-server.pid, 'SIGINT');
  await server.readiness(); // the server has handled the signal by the time that it responds
  process.kill(postgres, 'SIGCONT');
  expect(await server.exited, server.stderr).toMatchObject({ code: 0 });
  expect(children.filter(isRunning)).toEqual([]);
});

test('a signal in the middle of the first start ends it, and leaves no process', async () => {
  using folder = useDataFolder();
  await using server = new SpawnedServer(folder.path);
  await server.adminUrl();
  const { code, afterMs } = await server.stop('SIGINT');
  // Where the machine is so busy that the start takes longer than that, the exit code is 1.
  if (afterMs < SHUTDOWN_DEADLINE_MS) expect(code, server.stderr).toBe(0);
  await vi.waitFor(() => expect(server.children()).toEqual([]), PATIENTLY);
});

test('after kill -9 no process is left, the next start has all data, and SIGTERM ends it with 0, soon', async () => {
  using folder = copyStarted();
  const keys = readDemoKeys(folder.path);
  await using first = new SpawnedServer(folder.path);
  await first.url();
  const children = first.children();
  expect(children).toHaveLength(1);
  await first.stop('SIGKILL');
  await vi.waitFor(() => expect(children.filter(isRunning)).toEqual([]), PATIENTLY);
  await using second = new SpawnedServer(folder.path);
  expect(await listOrderIds(await second.url(), keys.get('free'))).toHaveLength(20);
  // And it ends as any other.
  await expectEndBy('SIGTERM', second);
});
