import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
// By its path: @petstore/testing depends on this package.
import { findRedis } from '../../testing/src/find-executable.ts';
import { claimDataFolder, findEmbeddedRedis, openEmbeddedRedis } from '../src/index.ts';
import { endWithTest, isAlive, useDataFolders } from './support/data-folder-user.ts';

const folders = useDataFolders();
let folder: string;
beforeEach(() => {
  folder = folders.path;
  offer('redis-server', `exec '${findRedis()}' "$@"`);
});
afterEach(() => vi.unstubAllEnvs());

/** Makes a program of this name the only one on PATH. */
function offer(name: string, script: string): void {
  const path = join(folder, '..', `bin-${script.length}`);
  mkdirSync(path);
  writeFileSync(join(path, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  vi.stubEnv('PATH', path);
}

/** Opens the Redis of a data folder, as its server does. */
async function open(path = folder) {
  const { signal } = new AbortController();
  using claimed = await claimDataFolder(path, signal);
  const redis = await openEmbeddedRedis(claimed, signal);
  if (redis?.target.type !== 'socket') throw new Error('there is no Redis');
  const socket = redis.target.path;
  const pid = Number(/process_id:(\d+)/.exec(await ask(socket, 'INFO server'))?.[1]);
  endWithTest(pid);
  return { socket, pid, stop: () => redis.stop(), [Symbol.asyncDispose]: () => redis.stop() };
}

/** What the Redis on a socket responds. */
function ask(socket: string, command: string): Promise<string> {
  const connection = connect(socket);
  connection.end(`${command}\r\n`);
  return text(connection);
}

const COUNT = 'INCR counted';

describe('the Redis below a data folder', () => {
  test('keeps its data over a restart, and can be reached by nobody but its owner, and root', async () => {
    const first = await open();
    expect(await findEmbeddedRedis(folder)).toEqual({ type: 'socket', path: first.socket, tls: false });
    expect(statSync(join(first.socket, '..')).mode & 0o777).toBe(0o700);
    expect(await ask(first.socket, 'CONFIG GET port')).toContain('$1\r\n0\r\n');
    expect(await ask(first.socket, COUNT)).toBe(':1\r\n');
    await first.stop();
    expect(isAlive(first.pid)).toBe(false);
    expect(await findEmbeddedRedis(folder)).toBeUndefined();
    await using second = await open();
    expect(await ask(second.socket, COUNT)).toBe(':2\r\n');
  });

  test('that a server left is taken over by the next one, whatever is installed, which stops it', async () => {
    const { socket, pid } = await open();
    await ask(socket, COUNT);
    vi.stubEnv('PATH', '');
    const next = await open();
    expect(next).toMatchObject({ socket, pid });
    expect(await ask(socket, COUNT)).toBe(':2\r\n');
    await next.stop();
    await vi.waitUntil(() => !isAlive(pid), { timeout: 25_000 });
  });

  test('is started by the next server when it was killed, with what it had written', async () => {
    const { socket, pid, stop } = await open();
    await ask(socket, COUNT);
    const [written = ''] = globSync(join(folder, 'redis/appendonlydir/*.incr.aof'));
    await vi.waitUntil(() => readFileSync(written, 'utf8').includes('counted'), { timeout: 25_000 });
    process.kill(pid, 'SIGKILL');
    await stop();
    expect(existsSync(socket), 'the socket of the Redis that was killed').toBe(true);
    expect(await findEmbeddedRedis(folder)).toBeUndefined();
    await using next = await open();
    expect(await ask(next.socket, COUNT)).toBe(':2\r\n');
  });

  test('is ended soon if it hangs', async () => {
    const { pid, stop } = await open();
    process.kill(pid, 'SIGSTOP');
    const beganAtMs = performance.now();
    await stop();
    expect(performance.now() - beganAtMs).toBeLessThan(10_000);
    expect(isAlive(pid)).toBe(false);
  });

  test('has its socket elsewhere if the path is too long for one, where commands find it', async () => {
    const named = join(folder, '..', `with "quotes" and ${'long '.repeat(30)}`);
    await using server = await open(named);
    expect(server.socket).toMatch(/^\/tmp\/petstore-/);
    expect(await findEmbeddedRedis(named)).toMatchObject({ path: server.socket });
  });

  test('that is too old is not run, in one line that says so', async () => {
    offer('valkey-server', 'echo "Redis server v=6.2.14 sha=00000000:0 malloc=libc bits=64"');
    await expect(open()).rejects.toThrow(
      /^\/.+\/valkey-server is too old \(it needs version 7\): Redis server v=6\.2\.14 .*$/,
    );
  });
});
