import { PATIENTLY } from '@petstore/testing';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  isRunning,
  listOrderIds,
  readDemoKeys,
  SpawnedServer,
  useDataFolder,
  useStartedDataFolder,
} from '../support/spawned-server.ts';

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

  test('a second one on the same data folder ends, and says why in one line, even if it is to have the same port', async () => {
    const { port } = new URL(await first.url());
    // It is not disposed of: that would end the first one's database.
    const second = new SpawnedServer(folder.path, { PORT: port });
    expect(await second.exited).toMatchObject({ code: 1 });
    expect(second.stderr).toBe(
      `petstore: Another server already runs on the data folder ${folder.path}: process ${first.pid}. Stop it, or set DATA_DIR to another.\n`,
    );
    expect((await first.readiness()).status).toBe(200);
  });

  test('SIGINT ends it with 0, soon, and leaves no process', () => expectEndBy('SIGINT', first));
});

async function expectEndBy(signal: NodeJS.Signals, server: SpawnedServer): Promise<void> {
  const children = server.children();
  expect(children).not.toEqual([]);
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

test('after kill -9 the next server takes over its database, and SIGTERM ends both with 0, soon', async () => {
  using folder = copyStarted();
  const keys = readDemoKeys(folder.path);
  const first = new SpawnedServer(folder.path);
  await first.url();
  const children = first.children();
  expect(children).not.toEqual([]);
  await first.stop('SIGKILL');
  await using second = new SpawnedServer(folder.path);
  expect(await listOrderIds(await second.url(), keys.get('free'))).toHaveLength(20);
  expect(second.children()).toEqual(children);
  await expectEndBy('SIGTERM', second);
});

test('a server that is started while the former one stops waits for it, also for its port', async () => {
  using folder = copyStarted();
  const keys = readDemoKeys(folder.path);
  await using first = new SpawnedServer(folder.path, { SHUTDOWN_DELAY: '3s' });
  const { port } = new URL(await first.url());
  first.process.kill('SIGTERM');
  await first.said(/"msg":"stopping"/);
  await using second = new SpawnedServer(folder.path, { PORT: port });
  expect(await first.exited).toMatchObject({ code: 0 });
  expect(await listOrderIds(await second.url(), keys.get('free'))).toHaveLength(20);
});
