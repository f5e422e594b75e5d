import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openEmbeddedRedis } from '@petstore/runtime';
import { PATIENTLY } from '@petstore/testing';
import { findRedis } from '@petstore/testing/find-executable';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createServerDatabase, KEYS } from '../support/database.ts';
import { isRunning, listOrderIds, SpawnedServer, useDataFolder } from '../support/spawned-server.ts';

const CLI = join(import.meta.dirname, '../../../cli/src/main.js');

/** Makes a PATH on which a program of this name is the only one. */
function writeProgram(folder: string, name: string, script: string): string {
  const path = join(folder, `bin-${name}`);
  mkdirSync(path);
  writeFileSync(join(path, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

/** Sends one command to a Redis. @returns the beginning of its reply */
async function ask(socket: string, command: string): Promise<string> {
  const connection = connect(socket);
  connection.end(`${command}\r\n`);
  return text(connection);
}

/** The process id of the Redis on a socket. */
const pidOf = async (socket: string): Promise<number> =>
  Number(/process_id:(\d+)/.exec(await ask(socket, 'INFO server'))?.[1]);

const resources = new AsyncDisposableStack();
let url: string;
let environment: Record<string, string>;
let path: string;
beforeAll(async () => {
  url = resources.use(await createServerDatabase()).url;
  const folder = resources.adopt(useDataFolder(), (used) => used[Symbol.dispose]());
  mkdirSync(folder.path);
  path = writeProgram(folder.path, 'redis-server', `exec '${findRedis()}' "$@"`);
  environment = { DATABASE_URL: url, PATH: path };
});
afterAll(() => resources.disposeAsync());

let folder: string;
/** Of the Redis of the embedded database. */
let socket: string;
beforeEach(({ onTestFinished }) => {
  const used = useDataFolder();
  onTestFinished(() => used[Symbol.dispose]());
  folder = used.path;
  socket = join(folder, 'redis', 'redis.sock');
});

/** The socket of the Redis of the test's own database. */
function socketOfDatabase(): string {
  const [found] = globSync(join(folder, 'redis-*', 'redis.sock'));
  if (found === undefined) throw new Error(`no socket below ${folder}`);
  return found;
}

const petstore = (...args: string[]) => petstoreWith({}, ...args);

async function petstoreWith(
  settings: Record<string, string>,
  ...args: string[]
): Promise<{ code: number; printed: unknown; messages: string }> {
  const child = spawn(process.execPath, [CLI, ...args, '--json'], {
    env: { ...environment, DATA_DIR: folder, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, messages, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, printed: output === '' ? undefined : JSON.parse(output), messages };
}

/** Makes a PATH with a Redis that starts only after some seconds. */
function writeSlowRedis(seconds: number): string {
  const script = `[ "$1" = --version ] || { echo "slow start: $$"; sleep ${seconds}; }; exec '${findRedis()}' "$@"`;
  return writeProgram(join(folder, '..'), 'redis-server', script);
}

/** The process ids of such Redis, of all starts. */
function slowStarts(): number[] {
  const logs = globSync(join(folder, 'redis*.log')).map((file) => readFileSync(file, 'utf8'));
  return logs.flatMap((log) => [...log.matchAll(/^slow start: (\d+)$/gm)].map(([, pid]) => Number(pid)));
}

const OPEN = `
  import { once } from 'node:events';
  import { openEmbeddedRedis } from '@petstore/runtime';
  const redis = await openEmbeddedRedis(process.argv[1]);
  console.log('open');
  await once(process.stdin.resume(), 'end');
  await redis.release();
`;

/** A process that opens the Redis of the embedded database, and releases it when it is told to. */
class Opener {
  readonly process = spawn(process.execPath, ['--input-type=module', '-e', OPEN, folder], {
    cwd: import.meta.dirname,
    stdio: ['pipe', 'pipe', 'inherit'],
  });

  /** Waits until it has opened it. */
  async opened(): Promise<void> {
    await once(this.process.stdout, 'data');
  }

  /** @returns the exit code */
  async leave(): Promise<number> {
    const exit = once(this.process, 'exit');
    this.process.stdin.end();
    return (await exit)[0];
  }
}

/** How many requests of the minute and the day the free key has used, as the command line sees it. */
async function countUsed(): Promise<number> {
  const { code, printed, messages } = await petstore('limits', 'show', KEYS.free.id);
  expect(code, messages).toBe(0);
  return (printed as { day: { used: number } }).day.used; // as documented
}

describe('a server without REDIS_URL, on a machine with Redis', () => {
  test('counts there with a second one and the command line, and ends it with itself; the counts stay', async () => {
    await using first = new SpawnedServer(folder, environment);
    const url = await first.url();
    expect(first.logLines(`listening on ${url}`)).toEqual([
      expect.objectContaining({ limits: `this machine's Redis, for evaluation only, in ${folder}` }),
    ]);
    expect((await first.readiness()).report).toMatchObject({ limits: 'redis' });
    await listOrderIds(url, KEYS.free.text);
    const redis = await pidOf(socketOfDatabase());
    expect(statSync(join(socketOfDatabase(), '..')).mode & 0o777).toBe(0o700);
    {
      await using second = new SpawnedServer(folder, environment);
      await listOrderIds(await second.url(), KEYS.free.text);
      expect(await countUsed()).toBe(2);
      expect(await petstore('bans', 'list')).toMatchObject({ code: 0, printed: [] });
      expect(await pidOf(socketOfDatabase())).toBe(redis);
    }
    expect(isRunning(redis), 'when the second one has ended').toBe(true);
    const { code, afterMs } = await first.stop();
    expect(code, first.stderr).toBe(0);
    expect(afterMs).toBeLessThan(10_000);
    expect(isRunning(redis), 'when the first one has ended').toBe(false);
    expect(await petstore('bans', 'list')).toMatchObject({ code: 1, messages: expect.stringMatching(/no Redis/) });
    await using next = new SpawnedServer(folder, environment);
    await listOrderIds(await next.url(), KEYS.free.text);
    expect(await countUsed()).toBe(3);
  });

  test('counts in its process when that Redis is killed; the next one has the counts', async () => {
    {
      await using server = new SpawnedServer(folder, environment);
      const url = await server.url();
      await listOrderIds(url, KEYS.free.text);
      await sleep(1_500); // Redis writes once a second
      process.kill(await pidOf(socketOfDatabase()), 'SIGKILL');
      await server.said(/"msg":"Redis is unavailable: limits are counted in this process"/);
      await listOrderIds(url, KEYS.free.text);
      expect((await server.readiness()).status).toBe(200);
      expect((await server.stop()).code, server.stderr).toBe(0);
    }
    expect(existsSync(socketOfDatabase()), 'the socket of the Redis that was killed').toBe(true);
    await using next = new SpawnedServer(folder, environment);
    await next.url();
    expect(await countUsed()).toBe(1);
  });

  test('has it found by the commands of its own database, outside production', async () => {
    await using server = new SpawnedServer(folder, environment);
    await server.url();
    const sameDatabase = new URL(url);
    sameDatabase.searchParams.set('connect_timeout', '5');
    const found = await petstoreWith({ DATABASE_URL: sameDatabase.href }, 'bans', 'list');
    expect(found).toMatchObject({ code: 0, printed: [] });
    const otherDatabase = new URL(url);
    otherDatabase.pathname += '_other';
    for (const settings of [{ DATABASE_URL: otherDatabase.href }, { NODE_ENV: 'production' }]) {
      const { code, messages } = await petstoreWith(settings, 'bans', 'list');
      expect({ code, messages }, JSON.stringify(settings)).toEqual({
        code: 1,
        messages: expect.stringMatching(/no Redis/),
      });
    }
  });

  test('ends while Redis starts if it is told to, and leaves none', async () => {
    const slow = writeSlowRedis(20);
    await using server = new SpawnedServer(folder, { ...environment, PATH: slow });
    const pid = await vi.waitUntil(() => slowStarts()[0], PATIENTLY);
    const { code, afterMs } = await server.stop();
    expect(code, server.stderr).toBe(0);
    expect(afterMs).toBeLessThan(10_000);
    await vi.waitUntil(() => !isRunning(pid), PATIENTLY);
    expect(server.logLines("the machine's Redis cannot be run: limits are counted in this process")).toEqual([]);
  });

  test('leaves none when it is killed', async () => {
    const server = new SpawnedServer(folder, environment);
    await server.url();
    const redis = await pidOf(socketOfDatabase());
    await server.stop('SIGKILL');
    await vi.waitUntil(() => !isRunning(redis), PATIENTLY);
  });

  test('runs none in production', async () => {
    await using server = new SpawnedServer(folder, { ...environment, NODE_ENV: 'production' });
    const url = await server.url();
    const [{ limits } = {}] = server.logLines(`listening on ${url}`);
    expect(limits).toMatch(/^in memory/);
    expect(globSync(join(folder, 'redis*'))).toEqual([]);
  });

  test('that is too old says so, and counts in its process', async () => {
    const old = writeProgram(join(path, '..'), 'valkey-server', 'echo "Redis server v=6.2.14 sha=00000000:0 bits=64"');
    await using server = new SpawnedServer(folder, { ...environment, PATH: old });
    await server.url();
    const [{ reason } = {}] = server.logLines("the machine's Redis cannot be run: limits are counted in this process");
    expect(reason).toMatch(/valkey-server is too old \(it needs version 7\): Redis server v=6\.2\.14/);
    expect((await server.readiness()).report).toMatchObject({ limits: 'in-process' });
  });
});

describe('the Redis below a data folder', () => {
  const pathBefore = process.env['PATH'];
  const usePrograms = (programs: string) => {
    process.env['PATH'] = `${programs}:${pathBefore}`;
  };
  beforeEach(({ onTestFinished }) => {
    usePrograms(path);
    onTestFinished(() => {
      process.env['PATH'] = pathBefore;
    });
  });

  test('is one, even when several start it at once and that takes seconds', async () => {
    usePrograms(writeSlowRedis(6));
    const other = new Opener();
    const [opened] = await Promise.all([
      Promise.all(Array.from({ length: 3 }, () => openEmbeddedRedis(folder))),
      other.opened(),
    ]);
    expect(slowStarts()).toHaveLength(1);
    expect(await ask(socket, 'SET who one')).toBe('+OK\r\n');
    const pid = await pidOf(socket);
    await Promise.all(opened.map((redis) => redis?.release()));
    expect(await other.leave()).toBe(0);
    expect(isRunning(pid)).toBe(false);
  });

  test('is started after one that was killed while it started it', async () => {
    usePrograms(writeSlowRedis(20));
    const other = new Opener();
    await vi.waitUntil(() => slowStarts()[0], PATIENTLY);
    other.process.kill('SIGKILL');
    usePrograms(path);
    const redis = await openEmbeddedRedis(folder);
    expect(await ask(socket, 'PING')).toBe('+PONG\r\n');
    await redis?.release();
  });

  test('is not waited for without end while another starts it, whose lock stays', async () => {
    await (await openEmbeddedRedis(folder))?.release();
    {
      using other = new DatabaseSync(join(folder, 'redis', 'start.lock'));
      other.exec('BEGIN EXCLUSIVE');
      for (const patienceMs of [0, 100]) {
        const waiting = openEmbeddedRedis(folder, { patienceMs });
        await expect(waiting).rejects.toThrow(/^another process has been starting Redis for .* s \(its lock: .*\)$/);
      }
      const signal = AbortSignal.timeout(100);
      await expect(openEmbeddedRedis(folder, { signal })).rejects.toThrow(/abort/);
    }
    await (await openEmbeddedRedis(folder, { patienceMs: 0 }))?.release();
  });

  test('is ended if its start is aborted', async () => {
    usePrograms(writeSlowRedis(20));
    const abort = new AbortController();
    const opening = openEmbeddedRedis(folder, { signal: abort.signal });
    const refused = expect(opening).rejects.toThrow(/abort/);
    const pid = await vi.waitUntil(() => slowStarts()[0], PATIENTLY);
    abort.abort();
    await refused;
    await vi.waitUntil(() => !isRunning(pid), PATIENTLY);
  });

  test('has no lock behind a link', async () => {
    await (await openEmbeddedRedis(folder))?.release();
    const lock = join(folder, 'redis', 'start.lock');
    rmSync(lock);
    symlinkSync(join(folder, 'elsewhere'), lock);
    await expect(openEmbeddedRedis(folder)).rejects.toThrow(/start\.lock is no file/);
    expect(existsSync(join(folder, 'elsewhere'))).toBe(false);
  });

  test('is waited for at its end, but not longer than some seconds', async () => {
    const ending = new Opener();
    await ending.opened();
    const pid = await pidOf(socket);
    expect(await ending.leave(), 'the exit code').toBe(0);
    expect(isRunning(pid)).toBe(false);
    const hanging = new Opener();
    await hanging.opened();
    const stopped = await pidOf(socket);
    process.kill(stopped, 'SIGSTOP');
    try {
      expect(await hanging.leave(), 'the exit code').toBe(0);
      expect(isRunning(stopped)).toBe(true);
    } finally {
      process.kill(stopped, 'SIGCONT');
    }
    await vi.waitUntil(() => !isRunning(stopped), PATIENTLY);
  });

  test('is looked for without the users of the machine if it has no socket', async () => {
    mkdirSync(folder);
    const script = `
      import fs from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      import { findEmbeddedRedis } from '@petstore/runtime';
      process.getuid = () => 0;
      fs.readFileSync = (path) => { throw new Error(path + ' was read'); };
      syncBuiltinESMExports();
      console.log(await findEmbeddedRedis(process.argv[1], undefined));
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, folder], {
      cwd: import.meta.dirname,
    });
    expect(stdout).toBe('undefined\n');
  });

  test('has its socket elsewhere if the path is too long for one', async () => {
    const long = join(folder, `with "quotes" and ${'long '.repeat(30)}`);
    const redis = await openEmbeddedRedis(long);
    const { path: place = '' } = redis?.target.type === 'socket' ? redis.target : {};
    expect(place).toMatch(/^\/tmp\/petstore-[\da-f]{16}\/redis\.sock$/);
    expect(await ask(place, 'PING')).toBe('+PONG\r\n');
    await redis?.release();
    expect(existsSync(join(place, '..'))).toBe(false);
  });
});
