import { once } from 'node:events';
import { existsSync, mkdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findExecutable } from '../process/find-executable.ts';
import { findSocketFolder, findUserOf, makePrivate } from '../process/private-folder.ts';
import { runTool, tryToStart } from '../process/server-process.ts';
import { RuntimeError } from '../runtime-error.ts';
import type { RedisTarget } from '../settings/redis-target.ts';
import { prepareDataFolder } from './data-folder.ts';

/** The Redis below a data folder, for trying out: nothing starts it again if it dies. */
export interface EmbeddedRedis {
  readonly target: RedisTarget;
  /** Ends it if this process started it, even if others use it. */
  release(): Promise<void>;
}

const SOCKET = 'redis.sock';
/** The limiter needs this version. Valkey begins after it. */
const MAJOR_VERSION_MIN = 7;
const POLL_MS = 20;
/** A start takes less; a process that is in it for longer was killed. */
const STARTING_MS_MAX = 5_000;

/**
 * A shell between this process and Redis. Its input ends with this process, however that ends, and it then ends Redis,
 * which writes its data. It ends with Redis, too.
 */
const GUARD =
  'exec 3<&0; "$@" 3<&- & redis=$!; { read -r _ <&3; kill "$redis"; } & reader=$!; wait "$redis"; kill "$reader"';

/**
 * Uses the Redis that another process runs below the data folder, or else runs the machine's redis-server or
 * valkey-server, until this process ends.
 *
 * @returns `undefined` if this machine has neither
 * @throws RuntimeError, of one line, if it cannot be run
 */
export async function openEmbeddedRedis(dataFolder: string): Promise<EmbeddedRedis | undefined> {
  const program = findExecutable(['redis-server', 'valkey-server']);
  if (program === undefined) return undefined;
  prepareDataFolder(resolve(dataFolder));
  const place = findPlace(dataFolder);
  const { folder, socketFolder, socket, user, logFile } = place;
  makePrivate(folder, user);
  makePrivate(socketFolder, user);
  const target = { type: 'socket', path: socket, tls: false } as const;
  using _lock = await takeLock(join(folder, 'starting'));
  if (await isListening(socket)) return { target, release: async () => {} };
  const version = await runTool([program, '--version'], user);
  if (Number(/ v=(\d+)/.exec(version)?.[1]) < MAJOR_VERSION_MIN) {
    throw new RuntimeError(`${program} is too old (it needs version ${MAJOR_VERSION_MIN}): ${version.trim()}`);
  }
  const options = ['--port', '0', '--unixsocket', socket, '--dir', folder, '--appendonly', 'yes', '--save', ''];
  const server = await tryToStart({
    name: 'Redis',
    command: ['/bin/sh', '-c', GUARD, 'sh', program, ...options],
    user,
    logFile,
    ready: /eady to accept connections/,
    input: 'pipe',
  });
  if (server === undefined) throw new RuntimeError(`Redis did not start (its log: ${logFile})`);
  return {
    target,
    async release() {
      const exit = server.exitCode === null && server.signalCode === null ? once(server, 'exit') : undefined;
      server.stdin?.end();
      await exit;
      if (socketFolder !== folder) rmSync(socketFolder, { recursive: true, force: true });
    },
  };
}

/** The Redis that a server runs below the data folder, if one does. */
export async function findEmbeddedRedis(dataFolder: string): Promise<RedisTarget | undefined> {
  if (!existsSync(dataFolder)) return undefined;
  const { socketFolder, socket, user } = findPlace(dataFolder);
  if (!existsSync(socket)) return undefined;
  makePrivate(socketFolder, user); // otherwise it may be another user's socket
  return (await isListening(socket)) ? { type: 'socket', path: socket, tls: false } : undefined;
}

function findPlace(dataFolder: string) {
  const root = realpathSync(dataFolder);
  const folder = join(root, 'redis');
  const socketFolder = findSocketFolder(folder, SOCKET);
  const logFile = join(root, 'redis.log');
  return { folder, socketFolder, socket: join(socketFolder, SOCKET), user: findUserOf(folder), logFile };
}

const isListening = (socket: string): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = connect(socket);
    probe.on('error', () => resolve(false)); // such as the socket of a Redis that was killed
    probe.on('connect', () => {
      probe.destroy();
      resolve(true);
    });
  });

/** Waits while another process starts Redis: one that starts takes the socket away from one that runs. */
async function takeLock(folder: string): Promise<Disposable> {
  const remove = () => rmSync(folder, { recursive: true, force: true });
  while (mkdirSync(folder, { recursive: true }) === undefined) {
    const { mtimeMs = Number.POSITIVE_INFINITY } = statSync(folder, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > STARTING_MS_MAX) remove();
    else await sleep(POLL_MS);
  }
  return { [Symbol.dispose]: remove };
}
