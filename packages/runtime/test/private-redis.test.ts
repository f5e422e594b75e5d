import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { lockFile } from '../src/embedded/data-folder.ts';
import { tryLock } from '../src/embedded/file-lock.ts';
import type { SocketRedis } from '../src/index.ts';
import { isAlive } from '../src/process/server-process.ts';
import { findRedisProgram, startRedis, stopRedis } from '../src/servers.ts';
import { expectToEnd, ORDINARY_USER, spawnSleep, User, useDataFolders } from './support/data-folder-user.ts';

const folders = useDataFolders();
let folder: string;
beforeEach(() => {
  folder = folders.path;
});

const useRedis = (path = folder, uid?: number) => new User(path, ['redis', 'without-postgres'], uid);

/** The last line of the reply to one command. */
async function command(redis: SocketRedis | undefined, text: string): Promise<string | undefined> {
  return (await commandLines(redis, text)).at(-1);
}

async function commandLines(redis: SocketRedis | undefined, text: string): Promise<readonly string[]> {
  const socket = connect({ path: redis?.path ?? '' });
  socket.end(`${text}\r\nQUIT\r\n`);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer.trim().split('\r\n').slice(0, -1);
}

describe('the private Redis below a data folder', () => {
  test('keeps its data over a restart, and is shared', async () => {
    {
      await using first = useRedis();
      const { redis, redisPid } = await first.said();
      await using second = useRedis();
      expect(await second.said()).toMatchObject({ redis, redisPid });
      expect(await command(redis, 'SET kept 42')).toBe('+OK');
    }
    await using third = useRedis();
    expect(await command((await third.said()).redis, 'GET kept')).toBe('42');
  });

  test('forgets addresses before keys, where an operator bounds its memory', async () => {
    await using user = useRedis();
    const { redis } = await user.said();
    expect(await command(redis, 'CONFIG GET maxmemory-policy')).toBe('volatile-ttl');
  });

  test('listens on a socket that only its owner can reach, and on no port', async () => {
    await using user = useRedis();
    const { redis } = await user.said();
    expect(redis?.path).toBe(join(folder, 'redis', 'redis.sock'));
    expect(statSync(join(folder, 'redis')).mode & 0o777).toBe(0o700);
    expect(statSync(redis?.path ?? '').mode & 0o777).toBe(0o700);
    expect(await commandLines(redis, 'INFO server')).toContain('tcp_port:0');
    expect(await commandLines(redis, 'CONFIG GET tls-port')).toContain('0');
    expect(canConnect(undefined, redis)).toBe(true);
    if (ORDINARY_USER !== undefined) expect(canConnect(ORDINARY_USER, redis)).toBe(false);
  });

  test('works where the path of the data folder is too long for a socket, and leaves nothing elsewhere', async () => {
    const long = join(folder, 'x'.repeat(120));
    let elsewhere: string;
    {
      await using user = useRedis(long);
      const { redis } = await user.said();
      expect(await command(redis, 'SET kept 42')).toBe('+OK');
      elsewhere = dirname(redis?.path ?? '');
      expect(readlinkSync(join(long, 'redis', 'socket'))).toBe(elsewhere);
      expect(statSync(elsewhere).mode & 0o777).toBe(0o700);
      await using second = useRedis(long);
      expect(await second.said()).toMatchObject({ redis });
    }
    expect(existsSync(elsewhere)).toBe(false);
    await using third = useRedis(long);
    expect(await command((await third.said()).redis, 'GET kept')).toBe('42');
  });

  test('never uses a folder elsewhere that others can enter, where its socket was before', async () => {
    const long = join(folder, 'x'.repeat(120));
    const foreign = join(folder, 'foreign');
    mkdirSync(join(long, 'redis'), { recursive: true, mode: 0o700 });
    mkdirSync(foreign);
    chmodSync(foreign, 0o777);
    symlinkSync(foreign, join(long, 'redis', 'socket'));
    await using user = useRedis(long);
    expect(dirname((await user.said()).redis?.path ?? '')).not.toBe(foreign);
  });

  test('is taken over where even the guard of its user was killed, and then stopped', async () => {
    const first = useRedis();
    const { redisPid = 0 } = await first.said();
    await first.killWithGuards();
    const second = useRedis();
    expect(await second.said()).toMatchObject({ redisPid });
    await second.leave();
    expect(isAlive(redisPid)).toBe(false);
  });

  test('is stopped when its last user was killed', async () => {
    const user = useRedis();
    const { redisPid = 0 } = await user.said();
    await user.kill();
    await vi.waitUntil(() => !isAlive(redisPid), { timeout: 25_000 });
  });

  test('is started again on its socket when it dies under a server', async () => {
    await using server = new User(folder, ['server', 'redis', 'without-postgres']);
    const { redis, redisPid = 0 } = await server.said();
    process.kill(redisPid, 'SIGKILL');
    expect(await server.said()).toEqual({ restarted: true });
    expect(await command(redis, 'PING')).toBe('+PONG');
  });

  test('starts over what a power cut leaves, and ends no process that has got its id', async () => {
    const first = useRedis();
    const { redis, redisPid = 0 } = await first.said();
    expect(await command(redis, 'SET kept 42')).toBe('+OK');
    expect(await command(redis, 'SAVE')).toBe('+OK');
    await first.killWithGuards();
    process.kill(redisPid, 'SIGKILL');
    await vi.waitUntil(() => !isAlive(redisPid), { timeout: 25_000 });
    expect(lstatSync(redis?.path ?? '').isSocket()).toBe(true);
    await using other = spawnSleep();
    writeFileSync(join(folder, 'redis', 'redis.pid'), `${other.pid}\n`);
    {
      await using second = useRedis();
      const said = await second.said();
      expect(said.redisPid).not.toBe(other.pid);
      expect(await command(said.redis, 'GET kept')).toBe('42');
    }
    expect(isAlive(other.pid ?? 0)).toBe(true);
  });
});

describe('a folder of the private Redis', () => {
  test('that others can enter is closed to them', async () => {
    mkdirSync(join(folder, 'redis'), { recursive: true });
    chmodSync(join(folder, 'redis'), 0o755);
    await using user = useRedis();
    await user.said();
    expect(statSync(join(folder, 'redis')).mode & 0o777).toBe(0o700);
  });

  test('of another user is refused in one line', async () => {
    mkdirSync(folder);
    chmodSync(dirname(folder), 0o755);
    if (ORDINARY_USER !== undefined) chownSync(folder, ORDINARY_USER, ORDINARY_USER);
    symlinkSync('/', join(folder, 'redis')); // which is root's
    await using user = useRedis(folder, ORDINARY_USER);
    const { error } = await user.said();
    expect(error).toBe(
      `RuntimeError: The folder ${join(folder, 'redis')} belongs to another user (uid 0). ` +
        'Start as that user, or set DATA_DIR to another.',
    );
  });

  test('that was begun by an ordinary user is used as that one by the user of the tests, maybe root', async () => {
    mkdirSync(folder);
    chmodSync(dirname(folder), 0o755);
    if (ORDINARY_USER !== undefined) chownSync(folder, ORDINARY_USER, ORDINARY_USER);
    {
      await using ordinary = useRedis(folder, ORDINARY_USER);
      expect(await command((await ordinary.said()).redis, 'SET kept 42')).toBe('+OK');
    }
    await using second = useRedis();
    const { redis, redisPid } = await second.said();
    expect(await command(redis, 'GET kept')).toBe('42');
    expect(statSync(redis?.path ?? '').uid).toBe(ORDINARY_USER ?? process.getuid?.());
    await using third = useRedis(folder, ORDINARY_USER);
    expect(await third.said()).toMatchObject({ redisPid });
  });
});

describe('what an earlier release left, whose Redis listened on a port', () => {
  /** Runs a Redis as that release did, with something in it. */
  async function startFormer() {
    const program = findRedisProgram();
    if (program === undefined) throw new Error('the tests need redis-server or valkey-server');
    const redis = join(folder, 'redis');
    mkdirSync(redis, { recursive: true });
    chmodSync(redis, 0o700);
    const config = { requirepass: 'secret', save: '60 1' };
    const former = await startRedis({ program, folder: redis, logFile: join(folder, 'redis.log'), config });
    expectToEnd(former.process.pid);
    const socket = connect({ host: '127.0.0.1', port: former.port });
    socket.end('AUTH secret\r\nSET kept 42\r\nQUIT\r\n');
    for await (const _ of socket);
    return former;
  }

  test('is kept; a Redis that still runs is ended first', async () => {
    const former = await startFormer();
    await using user = useRedis();
    expect(await command((await user.said()).redis, 'GET kept')).toBe('42');
    await former.process.waitForExit();
  });

  test('is kept where it had ended; a process that listens on its port by then receives nothing', async () => {
    const former = await startFormer();
    await stopRedis(former.process);
    let connections = 0;
    const listener = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo; // a TCP listener
    const configFile = join(folder, 'redis', 'redis.conf');
    const config = readFileSync(configFile, 'utf8');
    expect(config).toContain(`port ${former.port}\n`);
    writeFileSync(configFile, config.replace(`port ${former.port}\n`, `port ${port}\n`));
    {
      await using user = useRedis();
      expect(await command((await user.said()).redis, 'GET kept')).toBe('42');
    }
    expect(connections).toBe(0);
    listener.close();
    await once(listener, 'close');
  });

  test('is left alone while it is in use, and the error is one line', async () => {
    const former = await startFormer();
    mkdirSync(join(folder, 'locks'));
    const use = tryLock(lockFile(folder, 'redis-use'), 'shared');
    await using user = useRedis();
    expect((await user.said()).error).toBe(
      `RuntimeError: An earlier release of this program still runs on the data folder ${folder}. ` +
        'Stop it, and start again.',
    );
    expect(former.process.isRunning()).toBe(true);
    use?.release();
    await stopRedis(former.process);
  });
});

/** Whether a user can connect; curl says by its exit code 7 that it cannot. */
function canConnect(uid: number | undefined, redis: SocketRedis | undefined): boolean {
  const identity = uid === undefined ? {} : { uid, gid: uid };
  const args = ['--silent', '--max-time', '10', '--unix-socket', redis?.path ?? '', 'http://localhost/'];
  return spawnSync('curl', args, { cwd: '/', ...identity }).status !== 7;
}
