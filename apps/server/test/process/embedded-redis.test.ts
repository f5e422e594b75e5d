import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { PATIENTLY } from '@petstore/testing';
import { findRedis } from '@petstore/testing/find-executable';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createServerDatabase } from '../support/database.ts';
import { bearer, isRunning, SpawnedServer, useDataFolder, useStartedDataFolder } from '../support/spawned-server.ts';

const copyStarted = useStartedDataFolder();
let folder: string;
/** With a PATH on which Redis is the only program. */
let environment: Record<string, string>;
beforeEach(({ onTestFinished }) => {
  const used = copyStarted();
  onTestFinished(() => used[Symbol.dispose]());
  folder = used.path;
  environment = { PATH: writeProgram('redis-server', `exec '${findRedis()}' "$@"`) };
});

/** Makes a PATH on which a program of this name is the only one. */
function writeProgram(name: string, script: string): string {
  const path = join(folder, '..', `bin-${script.length}`);
  mkdirSync(path);
  writeFileSync(join(path, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

/** What the Redis of the data folder responds. */
function ask(command: string): Promise<string> {
  const connection = connect(join(folder, 'sockets', 'redis.sock'));
  connection.end(`${command}\r\n`);
  return text(connection);
}

/** Lists the orders as one request, and counts the requests that its key has made today. */
async function requestsToday(server: SpawnedServer): Promise<number> {
  const key = (await server.demoKeys()).get('free');
  const { status, headers } = await fetch(`${await server.url()}/v1/store/orders`, { headers: bearer(key) });
  expect(status).toBe(200);
  const figure = (name: string, pattern: RegExp) => Number(pattern.exec(headers.get(name) ?? '')?.[1]);
  return figure('ratelimit-policy', /"day";q=(\d+)/) - figure('ratelimit', /"day";r=(\d+)/);
}

test('a server counts in a Redis below its data folder, and by itself when that is killed', async () => {
  await using server = new SpawnedServer(folder, environment);
  await server.url();
  expect(server.stdout).toContain(`  Limits    this machine's Redis, for evaluation only, in ${folder}\n`);
  expect((await server.readiness()).report).toMatchObject({ limits: 'redis' });
  expect(await requestsToday(server)).toBe(1);
  expect(await ask('DBSIZE')).toMatch(/^:[1-9]/);
  const [, pid] = /process_id:(\d+)/.exec(await ask('INFO server')) ?? [];
  process.kill(Number(pid), 'SIGKILL');
  await server.said(/"msg":"Redis is unavailable: limits are counted in this process"/);
  await requestsToday(server);
  expect((await server.readiness()).status).toBe(200);
  expect((await server.stop()).code, server.stderr).toBe(0);
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

  test('that is too old says so, and counts in its process', async () => {
    const old = writeProgram('valkey-server', 'echo "Redis server v=6.2.14 sha=00000000:0 malloc=libc bits=64"');
    await using server = new SpawnedServer(folder, { ...environment, PATH: old });
    await server.url();
    const [{ reason } = {}] = server.logLines("the machine's Redis cannot be run: limits are counted in this process");
    expect(reason).toMatch(/valkey-server is too old \(it needs version 7\): Redis server v=6\.2\.14/);
    expect((await server.readiness()).report).toMatchObject({ limits: 'in-process' });
    expect(server.stdout).toMatch(/ {2}Limits {4}in memory, .*set REDIS_URL/);
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
