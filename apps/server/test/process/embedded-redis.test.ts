import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedRedis } from '@petstore/runtime';
import { PATIENTLY } from '@petstore/testing';
import { findRedis } from '@petstore/testing/find-executable';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { KEYS } from '../support/keys.ts';
import { createServerDatabase } from '../support/template-database.ts';
import { listOrderIds } from './support/list-orders.ts';
import { isRunning, SpawnedServer, useDataFolder } from './support/spawned-server.ts';

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
let environment: Record<string, string>;
let path: string;
beforeAll(async () => {
  const { url } = resources.use(await createServerDatabase());
  const folder = resources.adopt(useDataFolder(), (used) => used[Symbol.dispose]());
  mkdirSync(folder.path);
  path = writeProgram(folder.path, 'redis-server', `exec '${findRedis()}' "$@"`);
  environment = { DATABASE_URL: url, PATH: path };
});
afterAll(() => resources.disposeAsync());

let folder: string;
let socket: string;
beforeEach(({ onTestFinished }) => {
  const used = useDataFolder();
  onTestFinished(() => used[Symbol.dispose]());
  folder = used.path;
  socket = join(folder, 'redis', 'redis.sock');
});

async function petstore(...args: string[]): Promise<{ code: number; printed: unknown; messages: string }> {
  const child = spawn(process.execPath, [CLI, ...args, '--json'], {
    env: { ...environment, DATA_DIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, messages, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, printed: output === '' ? undefined : JSON.parse(output), messages };
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
    const redis = await pidOf(socket);
    expect(statSync(join(folder, 'redis')).mode & 0o777).toBe(0o700);
    {
      await using second = new SpawnedServer(folder, environment);
      await listOrderIds(await second.url(), KEYS.free.text);
      expect(await countUsed()).toBe(2);
      expect(await petstore('bans', 'list')).toMatchObject({ code: 0, printed: [] });
      expect(await pidOf(socket)).toBe(redis);
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
      process.kill(await pidOf(socket), 'SIGKILL');
      await server.said(/"msg":"Redis is unavailable: limits are counted in this process"/);
      await listOrderIds(url, KEYS.free.text);
      expect((await server.readiness()).status).toBe(200);
      expect((await server.stop()).code, server.stderr).toBe(0);
    }
    expect(existsSync(socket), 'the socket of the Redis that was killed').toBe(true);
    await using next = new SpawnedServer(folder, environment);
    await next.url();
    expect(await countUsed()).toBe(1);
  });

  test('leaves none when it is killed', async () => {
    const server = new SpawnedServer(folder, environment);
    await server.url();
    const redis = await pidOf(socket);
    await server.stop('SIGKILL');
    await vi.waitUntil(() => !isRunning(redis), PATIENTLY);
  });

  test('runs none in production', async () => {
    await using server = new SpawnedServer(folder, { ...environment, NODE_ENV: 'production' });
    const url = await server.url();
    const [{ limits } = {}] = server.logLines(`listening on ${url}`);
    expect(limits).toMatch(/^in memory/);
    expect(existsSync(join(folder, 'redis'))).toBe(false);
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
  beforeEach(({ onTestFinished }) => {
    process.env['PATH'] = `${path}:${pathBefore}`;
    onTestFinished(() => {
      process.env['PATH'] = pathBefore;
    });
  });

  test('is one, even when several start it at once, after one that was killed while it did', async () => {
    mkdirSync(join(folder, 'redis', 'starting'), { recursive: true, mode: 0o700 });
    utimesSync(join(folder, 'redis', 'starting'), 0, 0);
    const opened = await Promise.all(Array.from({ length: 4 }, () => openEmbeddedRedis(folder)));
    expect(await ask(socket, 'SET who one')).toBe('+OK\r\n');
    for (const redis of opened) expect(redis?.target).toEqual({ type: 'socket', path: socket, tls: false });
    const pid = await pidOf(socket);
    await Promise.all(opened.map((redis) => redis?.release()));
    expect(isRunning(pid)).toBe(false);
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
