import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type ApiKeyId, generateApiKeyText, hashApiKeyText, PLAN_NAMES } from '@petstore/domain';
import { openPersistence, type Persistence } from '@petstore/persistence';
import { findEmbeddedPostgres } from '@petstore/runtime';
import {
  createTemporaryFolder,
  createTestDatabase,
  endWithTestRun,
  findExecutable,
  PATIENCE_MS,
  PATIENTLY,
} from '@petstore/testing';
import { findRedis } from '@petstore/testing/find-executable';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { seedDemo } from '../../src/embedded/seed-demo.ts';
import { ComposedServer } from '../support/composed-server.ts';
import { createServerDatabase } from '../support/database.ts';
import {
  bearer,
  isRunning,
  listOrderIds,
  MAIN,
  readDemoKeys,
  SpawnedServer,
  useDataFolder,
} from '../support/spawned-server.ts';

/** An address that the server does not know to be a loopback one, though the system does: no test opens a port to others. */
const REACHABLE = '127.1';

const NO_REDIS = "the machine's Redis cannot be run: limits are counted in this process";

/** The plans and keys of a banner. */
const keysOf = (banner: string) =>
  [...banner.matchAll(/^(?: {2}Demo keys| {11}) ([\w-]+) +(pso_demo_\w+)$/gm)].map(([, plan, key]) => [plan, key]);

interface TerminalServer extends AsyncDisposable {
  /** The public listener's URL. */
  readonly url: string;
  /** What the terminal showed until requests were served. */
  readonly banner: string;
}

/** Starts the server on a terminal, which script(1) makes, and waits until it serves. */
async function startOnTerminal(dataFolder: string): Promise<TerminalServer> {
  // `exec`, so that the id of the shell, which is printed first, is the server's.
  const command = `echo "pid $$"; exec '${process.execPath}' '${MAIN}'`;
  const linux = ['-q', '-e', '-c', command, '/dev/null'];
  const program = findExecutable('script');
  if (program === undefined) throw new Error('the tests need script(1), which Debian, Ubuntu and macOS have');
  const script = spawn(program, process.platform === 'linux' ? linux : ['-q', '/dev/null', 'sh', '-c', command], {
    env: { PATH: '', SHELL: '/bin/sh', PORT: '0', DATA_DIR: dataFolder },
    stdio: ['pipe', 'pipe', 'inherit'], // a terminal's input does not end
  });
  const closed = once(script, 'close');
  let shown = '';
  let pid: number | undefined;
  let url: string | undefined;
  for await (const text of script.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    shown += text;
    if (pid === undefined) {
      const [, first] = /^pid (\d+)\r\n/.exec(shown) ?? [];
      if (first === undefined) continue;
      pid = Number(first);
      void closed.then(endWithTestRun(pid));
    }
    [, url] = /listening on (http\S+)\r\n/.exec(shown) ?? [];
    if (url !== undefined) break;
  }
  if (pid === undefined || url === undefined) throw new Error(`the server ended on its terminal:\n${shown}`);
  const serverPid = pid;
  script.stdout.resume();
  return {
    url,
    banner: shown.replaceAll('\r\n', '\n'),
    async [Symbol.asyncDispose]() {
      if (isRunning(serverPid)) process.kill(serverPid, 'SIGTERM');
      await closed;
    },
  };
}

/** Works on the database of a server that runs, as an operator does. */
async function administer(dataFolder: string, work: (persistence: Persistence) => Promise<void>): Promise<void> {
  const databaseUrl = await findEmbeddedPostgres(dataFolder);
  await using persistence = openPersistence({ databaseUrl, patienceMs: PATIENCE_MS });
  await work(persistence);
}

// The tests go through the starts of one data folder, in order.
describe('a data folder', () => {
  const folder = useDataFolder();
  const resources = new AsyncDisposableStack();
  let first: SpawnedServer;
  let keys: ReadonlyMap<string, string>;
  beforeAll(async () => {
    first = resources.use(new SpawnedServer(folder.path, { LOG_FORMAT: 'json' }));
    keys = await first.demoKeys();
  });
  afterAll(async () => {
    await resources.disposeAsync();
    folder[Symbol.dispose]();
  });

  test('has a key per plan after its first start, and orders and pets to look at', async () => {
    const url = await first.url();
    expect([...keys.keys()]).toEqual([...PLAN_NAMES, 'read-only']);
    for (const key of keys.values()) expect(await listOrderIds(url, key)).toHaveLength(20);
    const pet = await fetch(`${url}/v1/pets/1`, { headers: bearer(keys.get('free')) });
    expect(await pet.json()).toEqual({ id: 1, name: 'Bella' });
    expect(statSync(join(folder.path, 'demo-keys.json')).mode & 0o777).toBe(0o600);
    for (const key of keys.values()) expect(first.stdout + first.stderr).not.toContain(key);
  });

  describe('after a restart, on a terminal', () => {
    let second: TerminalServer;
    const cancelFirst = (url: string) =>
      fetch(`${url}/v1/store/orders/1`, { method: 'DELETE', headers: bearer(keys.get('free')) });
    /** As an operator does. */
    const changeKeys = () =>
      administer(folder.path, async ({ keyAdministration }) => {
        const idOf = (plan: string) => keys.get(plan)?.split('_')[2] as ApiKeyId; // as documented
        const now = new Date();
        const rotate = (id: ApiKeyId, overlapEndsAt: Date) => {
          const secretHash = hashApiKeyText(generateApiKeyText('live', id, randomBytes));
          return keyAdministration.rotateKey(id, { secretHash, now, overlapEndsAt });
        };
        const limits = { perMinute: 1_234, perDay: 56_789 };
        await keyAdministration.setPlan(idOf('free'), { name: 'enterprise', limits }, now);
        await rotate(idOf('pro'), now);
        await rotate(idOf('business'), new Date(now.getTime() + 3_600_000));
        await keyAdministration.revokeKey(idOf('enterprise'), now);
      });
    beforeAll(async () => {
      const url = await first.url();
      const readOnly = { method: 'DELETE', headers: bearer(keys.get('read-only')) };
      expect((await fetch(`${url}/v1/store/orders/1`, readOnly)).status).toBe(403);
      expect((await cancelFirst(url)).status).toBe(204);
      await changeKeys();
      await first.stop();
      second = resources.use(await startOnTerminal(folder.path));
    });

    test('has the same data and demo keys, and is not seeded again', async () => {
      expect(readDemoKeys(folder.path)).toEqual(keys);
      expect(await listOrderIds(second.url, keys.get('free'))).toHaveLength(20);
      expect(await (await cancelFirst(second.url)).json()).toMatchObject({ code: 'order_already_cancelled' });
    });

    test('has demo keys shown as they are: whole, none that is revoked or replaced, each with its plan', () => {
      const left = [...keys].filter(([name]) => name !== 'pro' && name !== 'enterprise');
      expect(keysOf(second.banner)).toEqual(left.map(([name, key]) => [name === 'free' ? 'enterprise' : name, key]));
    });

    test('has all shown, and a call to copy, in so few lines that nothing scrolls away', () => {
      const { banner } = second;
      const lines = banner
        .slice(banner.indexOf('Petstore Orders'), banner.lastIndexOf('listening on'))
        .trimEnd()
        .split('\n');
      const [curl] = lines.filter((line) => line.startsWith('  curl '));
      expect(curl).toContain(`"Authorization: Bearer ${keys.get('free')}"`);
      // In a terminal of 24 rows and 80 columns nothing scrolls away, with the keys that are not shown either.
      expect(lines.filter((line) => line.length > 80 && !line.includes(folder.path))).toEqual([curl]);
      expect(lines.length + keys.size - keysOf(banner).length).toBeLessThan(20);
      expect(lines.at(-1)).toMatch(/^ {2}REST {6}http:.*\/v1$/);
    });
  });

  test('was served with every line in JSON by LOG_FORMAT=json, up to the end, and one of them says where everything is', async () => {
    await first.stop();
    const lines = `${first.stdout}${first.stderr}`.trim().split('\n');
    expect(lines.map((line): Record<string, unknown> => JSON.parse(line))).toContainEqual(
      expect.objectContaining({
        msg: `listening on ${await first.url()}`,
        publicUrl: await first.url(),
        demoKeysFile: join(folder.path, 'demo-keys.json'),
        version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
        pid: first.pid,
      }),
    );
  });

  /** A start of the folder for the tests of a group. */
  function useServer(environment: () => Record<string, string>): () => SpawnedServer {
    let server: SpawnedServer;
    beforeAll(async () => {
      await resources.disposeAsync();
      server = new SpawnedServer(folder.path, environment());
      await server.url();
    });
    afterAll(() => server[Symbol.asyncDispose]());
    return () => server;
  }

  /** Makes a PATH on which a program of this name is the only one. */
  function writeProgram(name: string, script: string): string {
    const path = join(folder.path, '..', `bin-${script.length}`);
    mkdirSync(path);
    writeFileSync(join(path, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return path;
  }

  describe('after a start that others can reach, on a machine whose Redis is too old', () => {
    const VERSION = 'Redis server v=6.2.14 sha=00000000:0 malloc=libc bits=64';
    const server = useServer(() => ({ HOST: REACHABLE, PATH: writeProgram('valkey-server', `echo "${VERSION}"`) }));

    test('has its demo keys revoked', async () => {
      const url = await server().url();
      expect(await server().demoKeys()).toEqual(new Map());
      for (const key of keys.values()) {
        expect((await fetch(`${url}/v1/store/orders`, { headers: bearer(key) })).status).toBe(401);
      }
      const { stdout } = server();
      expect(stdout).toMatch(/"level":"warn".*the demo keys were revoked: HOST is reachable from other machines/);
      expect(stdout).not.toContain('Demo keys');
    });

    test('has people told where everything is, and limits counted in the process, with the reason', async () => {
      const { stdout } = server();
      const url = await server().url();
      expect(stdout).toContain(`  REST      ${url}/v1\n`);
      expect(stdout).toContain(`  tRPC      ${url}/trpc\n`);
      expect(stdout).toContain(`  Health    ${await server().adminUrl()}/readyz`);
      expect(stdout).toMatch(/ {2}Limits {4}in memory, .*set REDIS_URL/);
      expect((await server().readiness()).report).toMatchObject({ limits: 'in-process' });
      expect(server().logLines(NO_REDIS)).toMatchObject([
        { reason: expect.stringMatching(/valkey-server is too old \(it needs version 7\): Redis server v=6\.2\.14/) },
      ]);
    });
  });

  describe('after another start, on a machine with Redis', () => {
    const server = useServer(() => ({
      LOG_FORMAT: 'pretty',
      PATH: writeProgram('redis-server', `exec '${findRedis()}' "$@"`),
    }));

    test('has other demo keys, of which only a terminal is shown more than the path of their file', async () => {
      const others = await server().demoKeys();
      expect([...others.keys()]).toEqual([...keys.keys()]);
      for (const [plan, key] of others) {
        expect(key).not.toBe(keys.get(plan));
        expect(await listOrderIds(await server().url(), key)).toHaveLength(20);
      }
      expect(server().stdout).toContain(`  Demo keys ${join(folder.path, 'demo-keys.json')}\n`);
      for (const key of others.values()) expect(server().stdout + server().stderr).not.toContain(key);
    });

    test('has limits counted in a Redis below it, and by the server when that is killed', async () => {
      const limits = `  Limits    this machine's Redis, for evaluation only, in ${folder.path}\n`;
      expect(server().stdout).toContain(limits);
      expect((await server().readiness()).report).toMatchObject({ limits: 'redis' });
      const list = async () => listOrderIds(await server().url(), (await server().demoKeys()).get('free'));
      await list();
      const ask = (command: string) => {
        const connection = connect(join(folder.path, 'sockets', 'redis.sock'));
        connection.end(`${command}\r\n`);
        return text(connection);
      };
      expect(await ask('DBSIZE')).toMatch(/^:[1-9]/);
      const [, pid] = /process_id:(\d+)/.exec(await ask('INFO server')) ?? [];
      process.kill(Number(pid), 'SIGKILL');
      for (let sent = 0; sent < 5; sent++) await list(); // more show that it is gone than one
      await server().said(/Redis is unavailable: limits are counted in this process/);
      expect((await server().readiness()).status).toBe(200);
      expect((await server().stop()).code, server().stderr).toBe(0);
    });
  });

  test('has no server that is told to end while Redis starts, and none of its programs', async () => {
    await resources.disposeAsync();
    const script = `[ "$1" = --version ] || { echo "slow start: $$"; exec sleep 20; }; exec '${findRedis()}' "$@"`;
    await using server = new SpawnedServer(folder.path, { PATH: writeProgram('redis-server', script) });
    const log = join(folder.path, 'redis.log');
    const findPid = () => Number(existsSync(log) && /^slow start: (\d+)$/m.exec(readFileSync(log, 'utf8'))?.[1]);
    const pid = await vi.waitUntil(findPid, PATIENTLY);
    const { code, afterMs } = await server.stop();
    expect(code, server.stderr).toBe(0);
    expect(afterMs).toBeLessThan(10_000);
    expect(isRunning(pid)).toBe(false);
    expect(server.logLines(NO_REDIS)).toEqual([]);
  });
});

test('a server with a DATABASE_URL runs no Redis, and needs no data folder', async () => {
  await using database = await createServerDatabase();
  using unused = useDataFolder();
  await using server = new ComposedServer();
  await server.start({ DATABASE_URL: database.url, DATA_DIR: unused.path });
  const [{ limits } = {}] = server.logLines(`listening on ${await server.url()}`);
  expect(limits).toMatch(/^in memory/);
  expect(existsSync(unused.path)).toBe(false);
});

test('a first start that others can reach creates orders, and no demo keys', async () => {
  await using database = await createTestDatabase();
  using folder = createTemporaryFolder();
  const seeding = {
    dataFolder: folder.path,
    host: REACHABLE,
    clock: () => new Date(),
    logger: pino({ level: 'silent' }),
  };
  await using persistence = openPersistence({ databaseUrl: database.url, patienceMs: PATIENCE_MS });
  await persistence.migrations.migrate();
  expect(await seedDemo(persistence, seeding)).toEqual([]);
  expect(readDemoKeys(folder.path)).toEqual(new Map());
  expect((await persistence.orders.findOrders({ filter: {}, limit: 100 })).items).toHaveLength(20);
  expect(await persistence.keyAdministration.listKeys()).toEqual([]);
});
