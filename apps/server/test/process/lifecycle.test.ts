import { PATIENTLY } from '@petstore/testing';
import { describe, expect, test, vi } from 'vitest';
import { listOrderIds } from './support/list-orders.ts';
import { isRunning, readDemoKeys, SpawnedServer, useDataFolder } from './support/spawned-server.ts';
import { useStartedDataFolder } from './support/started-once.ts';

/** After this time a server that has not ended exits. */
const SHUTDOWN_DEADLINE_MS = 9_000;

const copyStarted = useStartedDataFolder();

describe('while a server with a database of its own runs', () => {
  test('a second one on the same data folder ends, and says why in one line', async () => {
    using folder = copyStarted();
    await using first = new SpawnedServer(folder.path);
    await first.url();
    await using second = new SpawnedServer(folder.path);
    expect(await second.exited).toMatchObject({ code: 1 });
    expect(second.stderr).toBe(
      `petstore: Another server already runs on the data folder ${folder.path}. Stop it, or set DATA_DIR to another.\n`,
    );
    expect((await first.readiness()).status).toBe(200);
  });

  test('a database that dies under it is started again', async () => {
    using folder = copyStarted();
    await using server = new SpawnedServer(folder.path);
    const keys = await server.demoKeys();
    const url = await server.url();
    const [postgres = Number.NaN, redis = Number.NaN] = server.children();
    process.kill(postgres, 'SIGKILL');
    process.kill(redis, 'SIGKILL');
    await server.said(/PostgreSQL had ended, and was started again/);
    await server.said(/Redis had ended, and was started again/);
    await vi.waitFor(async () => expect(await listOrderIds(url, keys.get('enterprise'))).toHaveLength(20), PATIENTLY);
    await vi.waitFor(
      async () => expect((await server.readiness()).report).toMatchObject({ limits: 'redis' }),
      PATIENTLY,
    );
  });
});

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends the server with 0, soon, and leaves no process', async (signal) => {
  using folder = copyStarted();
  await using server = new SpawnedServer(folder.path);
  await server.url();
  const children = server.children();
  expect(children).toHaveLength(2);
  const { code, afterMs } = await server.stop(signal);
  expect(code, server.stderr).toBe(0);
  expect(afterMs).toBeLessThan(10_000);
  expect(children.filter(isRunning)).toEqual([]);
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

test('after kill -9 no process is left, and the next start has all data', async () => {
  using folder = copyStarted();
  const keys = readDemoKeys(folder.path);
  await using first = new SpawnedServer(folder.path);
  await first.url();
  const children = first.children();
  expect(children).toHaveLength(2);
  await first.stop('SIGKILL');
  await vi.waitFor(() => expect(children.filter(isRunning)).toEqual([]), PATIENTLY);
  await using second = new SpawnedServer(folder.path);
  expect(await listOrderIds(await second.url(), keys.get('free'))).toHaveLength(20);
});
