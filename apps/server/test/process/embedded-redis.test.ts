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
import { bearer, isRunning, SpawnedServer, useDataFolder, useStartedDataFolder } from '../support/spawned-server.ts';

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

/** Lists the orders as one request, and counts the requests that its key has made today. */
async function request(server: SpawnedServer): Promise<number> {
  const key = (await server.demoKeys()).get('free');
  const { status, headers } = await fetch(`${await server.url()}/v1/store/orders`, { headers: bearer(key) });
  expect(status).toBe(200);
  const figure = (name: string, pattern: RegExp) => Number(pattern.exec(headers.get(name) ?? '')?.[1]);
  return figure('ratelimit-policy', /"day";q=(\d+)/) - figure('ratelimit', /"day";r=(\d+)/);
}

test('the servers of a data folder, one after the other, count in a Redis of its own', async () => {
  {
    await using server = new SpawnedServer(folder, environment);
    await server.url();
    expect(server.stdout).toContain(`  Limits    this machine's Redis, for evaluation only, in ${folder}\n`);
    expect((await server.readiness()).report).toMatchObject({ limits: 'redis' });
    expect(statSync(join(socket, '..')).mode & 0o777).toBe(0o700);
    expect(await request(server)).toBe(1);
    // The command line finds the counts, but not with a database that is not the server's.
    const keyId = (await server.demoKeys()).get('free')?.split('_')[2] ?? '';
    expect(await petstore(['limits', 'show', keyId])).toMatchObject({ code: 0, printed: { day: { used: 1 } } });
    await using other = await createServerDatabase();
    const { code, messages } = await petstore(['bans', 'list'], { DATABASE_URL: other.url });
    expect({ code, messages }).toEqual({ code: 1, messages: expect.stringMatching(/no Redis/) });
    // Its Redis is killed: the server counts by itself, and does not start another.
    await sleep(1_500); // Redis writes once a second
    process.kill(await pidOf(socket), 'SIGKILL');
    await server.said(/"msg":"Redis is unavailable: limits are counted in this process"/);
    await request(server);
    expect((await server.readiness()).status).toBe(200);
    expect((await server.stop()).code, server.stderr).toBe(0);
  }
  expect(existsSync(socket), 'the socket of the Redis that was killed').toBe(true);
  const killed = new SpawnedServer(folder, environment);
  expect(await request(killed)).toBe(2); // those that were written
  const redis = await pidOf(socket);
  await killed.stop('SIGKILL');
  expect(isRunning(redis)).toBe(true);
  {
    await using next = new SpawnedServer(folder, environment);
    expect(await request(next)).toBe(3);
    expect(await pidOf(socket), 'it is taken over').toBe(redis);
    const { code, afterMs } = await next.stop();
    expect(code, next.stderr).toBe(0);
    expect(afterMs).toBeLessThan(10_000);
    await vi.waitUntil(() => !isRunning(redis), PATIENTLY);
  }
  await using last = new SpawnedServer(folder, environment);
  expect(await request(last)).toBe(4);
  const hung = await pidOf(socket);
  process.kill(hung, 'SIGSTOP');
  const { code, afterMs } = await last.stop();
  expect(code, last.stderr).toBe(0);
  expect(afterMs).toBeLessThan(10_000);
  expect(isRunning(hung)).toBe(false);
});

describe('a server with the embedded database, on a machine with Redis', () => {
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

test('a server with a DATABASE_URL runs no Redis', async () => {
  await using database = await createServerDatabase();
  using other = useDataFolder();
  await using server = new SpawnedServer(other.path, { ...environment, DATABASE_URL: database.url });
  const [{ limits } = {}] = server.logLines(`listening on ${await server.url()}`);
  expect(limits).toMatch(/^in memory/);
  expect(existsSync(other.path)).toBe(false);
});
