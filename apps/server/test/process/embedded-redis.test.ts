import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENTLY } from '@petstore/testing';
import { findRedis } from '@petstore/testing/find-executable';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createServerDatabase } from '../support/database.ts';
import {
  isRunning,
  listOrderIds,
  SpawnedServer,
  useDataFolder,
  useStartedDataFolder,
} from '../support/spawned-server.ts';

const CLI = join(import.meta.dirname, '../../../cli/src/main.js');

const copyStarted = useStartedDataFolder();
let folder: string;
let socket: string;
/** With a PATH on which Redis is the only program. */
let environment: Record<string, string>;
beforeEach(({ onTestFinished }) => {
  const used = copyStarted();
  onTestFinished(() => used[Symbol.dispose]());
  folder = used.path;
  socket = join(folder, 'sockets', 'redis.sock');
  environment = { PATH: writeProgram('redis-server', `exec '${findRedis()}' "$@"`) };
});

/** Makes a PATH on which a program of this name is the only one. */
function writeProgram(name: string, script: string): string {
  const path = join(folder, '..', `bin-${script.length}`);
  mkdirSync(path);
  writeFileSync(join(path, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

/** The process id of the Redis on a socket. */
async function pidOf(redis: string): Promise<number> {
  const connection = connect(redis);
  connection.end('INFO server\r\n');
  return Number(/process_id:(\d+)/.exec(await text(connection))?.[1]);
}

async function petstore(args: readonly string[], settings: Record<string, string> = {}) {
  const env = { DATA_DIR: folder, ...settings };
  const child = spawn(process.execPath, [CLI, ...args, '--json'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, messages, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, printed: output === '' ? undefined : JSON.parse(output), messages };
}

/** Lists the orders as one request, and counts the requests that its key has made today as the command line sees them. */
async function request(server: SpawnedServer): Promise<number> {
  const key = (await server.demoKeys()).get('free') ?? '';
  await listOrderIds(await server.url(), key);
  const { code, printed, messages } = await petstore(['limits', 'show', key.split('_')[2] ?? '']);
  expect(code, messages).toBe(0);
  return (printed as { day: { used: number } }).day.used; // as documented
}

describe('a server with the embedded database, on a machine with Redis', () => {
  test('counts there with the command line, and ends it with itself; the counts stay', async () => {
    await using first = new SpawnedServer(folder, environment);
    const url = await first.url();
    expect(first.stdout).toContain(`  Limits    this machine's Redis, for evaluation only, in ${folder}\n`);
    expect(url).toMatch(/^http/);
    expect((await first.readiness()).report).toMatchObject({ limits: 'redis' });
    expect(await request(first)).toBe(1);
    expect(await petstore(['bans', 'list'])).toMatchObject({ code: 0, printed: [] });
    expect(statSync(join(socket, '..')).mode & 0o777).toBe(0o700);
    const redis = await pidOf(socket);
    const { code, afterMs } = await first.stop();
    expect(code, first.stderr).toBe(0);
    expect(afterMs).toBeLessThan(10_000);
    expect(isRunning(redis)).toBe(false);
    await using next = new SpawnedServer(folder, environment);
    expect(await request(next)).toBe(2);
  });

  test('leaves it when it is killed; the next one takes it over, and ends it with itself', async () => {
    const first = new SpawnedServer(folder, environment);
    expect(await request(first)).toBe(1);
    const redis = await pidOf(socket);
    await first.stop('SIGKILL');
    expect(isRunning(redis)).toBe(true);
    await using next = new SpawnedServer(folder, environment);
    expect(await request(next)).toBe(2);
    expect(await pidOf(socket)).toBe(redis);
    expect((await next.stop()).code, next.stderr).toBe(0);
    await vi.waitUntil(() => !isRunning(redis), PATIENTLY);
  });

  test('counts in its process when that Redis is killed; the next one has the counts', async () => {
    {
      await using server = new SpawnedServer(folder, environment);
      expect(await request(server)).toBe(1);
      await sleep(1_500); // Redis writes once a second
      process.kill(await pidOf(socket), 'SIGKILL');
      await server.said(/"msg":"Redis is unavailable: limits are counted in this process"/);
      const key = (await server.demoKeys()).get('free');
      await listOrderIds(await server.url(), key);
      expect((await server.readiness()).status).toBe(200);
      expect((await server.stop()).code, server.stderr).toBe(0);
    }
    expect(existsSync(socket), 'the socket of the Redis that was killed').toBe(true);
    await using next = new SpawnedServer(folder, environment);
    expect(await request(next)).toBe(2);
  });

  test('ends while Redis starts if it is told to, and leaves none', async () => {
    const script = `[ "$1" = --version ] || { echo "slow start: $$"; exec sleep 20; }; exec '${findRedis()}' "$@"`;
    const slow = writeProgram('redis-server', script);
    await using server = new SpawnedServer(folder, { ...environment, PATH: slow });
    const log = join(folder, 'redis.log');
    const findPid = () => Number(existsSync(log) && /^slow start: (\d+)$/m.exec(readFileSync(log, 'utf8'))?.[1]);
    const pid = await vi.waitUntil(findPid, PATIENTLY);
    const { code, afterMs } = await server.stop();
    expect(code, server.stderr).toBe(0);
    expect(afterMs).toBeLessThan(10_000);
    expect(isRunning(pid)).toBe(false);
    expect(server.logLines("the machine's Redis cannot be run: limits are counted in this process")).toEqual([]);
  });

  test('ends with 0 in time also if that Redis hangs, and leaves none', async () => {
    await using server = new SpawnedServer(folder, environment);
    await server.url();
    const redis = await pidOf(socket);
    process.kill(redis, 'SIGSTOP');
    const { code, afterMs } = await server.stop();
    expect(code, server.stderr).toBe(0);
    expect(afterMs).toBeLessThan(10_000);
    expect(isRunning(redis)).toBe(false);
  });

  test('has its socket elsewhere if the path is too long for one, where the command line finds it', async () => {
    folder = join(folder, '..', `with "quotes" and ${'long '.repeat(30)}`);
    const before = new Set(globSync('/tmp/petstore-*/redis.sock'));
    await using server = new SpawnedServer(folder, environment);
    await server.url();
    expect(await petstore(['bans', 'list'])).toMatchObject({ code: 0, printed: [] });
    const places = globSync('/tmp/petstore-*/redis.sock').filter((place) => !before.has(place));
    expect(places).toHaveLength(1);
    expect((await server.stop()).code, server.stderr).toBe(0);
    expect(existsSync(join(places[0] ?? '', '..'))).toBe(false);
  });

  test('that is too old says so, and counts in its process', async () => {
    const old = writeProgram('valkey-server', 'echo "Redis server v=6.2.14 sha=00000000:0 malloc=libc bits=64"');
    await using server = new SpawnedServer(folder, { ...environment, PATH: old });
    await server.url();
    const [{ reason } = {}] = server.logLines("the machine's Redis cannot be run: limits are counted in this process");
    expect(reason).toMatch(/valkey-server is too old \(it needs version 7\): Redis server v=6\.2\.14/);
    expect((await server.readiness()).report).toMatchObject({ limits: 'in-process' });
    expect(server.stdout).toMatch(/ {2}Limits {4}in memory, .*set REDIS_URL/);
    expect(await petstore(['bans', 'list'])).toMatchObject({ code: 1, messages: expect.stringMatching(/no Redis/) });
  });
});

test('a server with a DATABASE_URL runs no Redis, and a command with one finds none of another server on its data folder', async () => {
  await using database = await createServerDatabase();
  await using embedded = new SpawnedServer(folder, environment);
  await embedded.url();
  const ofDatabase = { DATABASE_URL: database.url };
  using other = useDataFolder();
  await using server = new SpawnedServer(other.path, { ...environment, ...ofDatabase });
  const [{ limits } = {}] = server.logLines(`listening on ${await server.url()}`);
  expect(limits).toMatch(/^in memory/);
  expect(existsSync(other.path)).toBe(false);
  const { code, messages } = await petstore(['bans', 'list'], ofDatabase);
  expect({ code, messages }).toEqual({ code: 1, messages: expect.stringMatching(/no Redis/) });
});
