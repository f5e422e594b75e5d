import { createHash } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../errors.ts';
import { findExecutable } from '../process/find-executable.ts';
import { findSocketFolder, findUserOf, makePrivate } from '../process/private-folder.ts';
import { runTool, tryToStart } from '../process/server-process.ts';
import type { UnprivilegedUser } from '../process/unprivileged-user.ts';
import type { DatabaseUrls } from '../settings/database-urls.ts';
import type { RedisTarget } from '../settings/redis-target.ts';
import { prepareDataFolder } from './data-folder.ts';

/** The Redis of one database below a data folder, for trying out: nothing starts it again if it dies. */
export interface EmbeddedRedis {
  readonly target: RedisTarget;
  /** Ends it if this process started it, even if others use it. */
  release(): Promise<void>;
}

export interface EmbeddedRedisOptions {
  /** The database whose limits it counts. @default the embedded one */
  readonly databaseUrls?: DatabaseUrls | undefined;
  /** Aborts a start in progress. */
  readonly signal?: AbortSignal;
  /** How long to wait while another process starts it, in milliseconds. @default 60 seconds, as long as a start may take */
  readonly patienceMs?: number;
}

const SOCKET = 'redis.sock';
/** The limiter needs this version. Valkey begins after it. */
const MAJOR_VERSION_MIN = 7;
const POLL_MS = 20;
const PATIENCE_MS = 60_000;
/** How long its end is waited for, in milliseconds. It goes on to end. */
const STOP_TIMEOUT_MS = 5_000;
/** A code of SQLite's errors: another connection has the lock. */
const SQLITE_BUSY = 5;

/**
 * A shell between this process and Redis. Its input ends with this process, however that ends, and it then ends Redis,
 * which writes its data. It ends with Redis, too.
 */
const GUARD =
  'exec 3<&0; "$@" 3<&- & redis=$!; { read -r _ <&3; kill "$redis"; } & reader=$!; wait "$redis"; kill "$reader"';

/**
 * Uses the Redis that another process runs below the data folder for the same database, or else runs the machine's
 * redis-server or valkey-server, until this process ends.
 *
 * @returns `undefined` if this machine has neither
 * @throws RuntimeError, of one line, if it cannot be run
 * @throws AbortError
 */
export async function openEmbeddedRedis(
  dataFolder: string,
  { databaseUrls, signal, patienceMs = PATIENCE_MS }: EmbeddedRedisOptions = {},
): Promise<EmbeddedRedis | undefined> {
  const program = findExecutable(['redis-server', 'valkey-server']);
  if (program === undefined) return undefined;
  prepareDataFolder(resolve(dataFolder));
  const { folder, socketFolder, socket, logFile } = findPlace(dataFolder, databaseUrls);
  const user = findUserOf(folder);
  makePrivate(folder, user);
  makePrivate(socketFolder, user);
  const target = { type: 'socket', path: socket, tls: false } as const;
  using _lock = await takeLock(join(folder, 'start.lock'), user, patienceMs, signal);
  if (await isListening(socket)) return { target, release: async () => {} };
  const version = await runTool([program, '--version'], user);
  if (Number(/ v=(\d+)/.exec(version)?.[1]) < MAJOR_VERSION_MIN) {
    throw new RuntimeError(`${program} is too old (it needs version ${MAJOR_VERSION_MIN}): ${version.trim()}`);
  }
  const options = ['--port', '0', '--unixsocket', socket, '--dir', folder, '--appendonly', 'yes', '--save', ''];
  const server = await tryToStart(
    {
      name: 'Redis',
      command: ['/bin/sh', '-c', GUARD, 'sh', program, ...options],
      user,
      logFile,
      ready: /eady to accept connections/,
      input: 'pipe',
    },
    signal,
  );
  if (server === undefined) throw new RuntimeError(`Redis did not start (its log: ${logFile})`);
  return {
    target,
    async release() {
      if (server.exitCode === null && server.signalCode === null) {
        server.ref(); // otherwise this process could end first
        const exit = once(server, 'exit', { signal: AbortSignal.timeout(STOP_TIMEOUT_MS) });
        server.stdin?.end();
        await exit.catch(() => server.unref());
      }
      if (socketFolder !== folder) fs.rmSync(socketFolder, { recursive: true, force: true });
    },
  };
}

/** The Redis that a server runs below the data folder for this database, if one does. */
export async function findEmbeddedRedis(
  dataFolder: string,
  databaseUrls: DatabaseUrls | undefined,
): Promise<RedisTarget | undefined> {
  if (!fs.existsSync(dataFolder)) return undefined;
  const { folder, socketFolder, socket } = findPlace(dataFolder, databaseUrls);
  if (!fs.existsSync(socket)) return undefined;
  makePrivate(socketFolder, findUserOf(folder)); // otherwise it may be another user's socket
  return (await isListening(socket)) ? { type: 'socket', path: socket, tls: false } : undefined;
}

/** Each database has its own: the limits and bans of one are not those of another. */
function findPlace(dataFolder: string, databaseUrls: DatabaseUrls | undefined) {
  const name = databaseUrls === undefined ? 'redis' : `redis-${digestOf(databaseUrls)}`;
  const folder = join(fs.realpathSync(dataFolder), name);
  const socketFolder = findSocketFolder(folder, SOCKET);
  return { folder, socketFolder, socket: join(socketFolder, SOCKET), logFile: `${folder}.log` };
}

/** Says which database and schema it is. The password and the terms of a connection may differ. */
function digestOf(databaseUrls: DatabaseUrls): string {
  const places = databaseUrls.map((text) => {
    const { hostname, port, pathname, username, searchParams } = new URL(text);
    const host = searchParams.get('host') ?? hostname;
    const database = pathname.slice(1) || username; // as PostgreSQL's own programs choose it
    return [host, port || '5432', database, searchParams.get('options')];
  });
  return createHash('sha256').update(JSON.stringify(places)).digest('hex').slice(0, 8);
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

/**
 * Waits while another process starts Redis: one that starts takes the socket away from one that runs. The lock is that of
 * SQLite, which the system releases however a process ends. The file stays.
 */
async function takeLock(
  file: string,
  user: UnprivilegedUser | undefined,
  patienceMs: number,
  signal: AbortSignal | undefined,
): Promise<Disposable> {
  const deadlineMs = performance.now() + patienceMs;
  makeLockFile(file, user);
  const sqlite = await import('node:sqlite'); // commands, and servers with a REDIS_URL, need not load it
  const lock = new sqlite.DatabaseSync(file, { timeout: 0 });
  try {
    while (!tryToLock(lock)) {
      if (performance.now() > deadlineMs) {
        throw new RuntimeError(
          `another process has been starting Redis for ${patienceMs / 1_000} s (its lock: ${file})`,
        );
      }
      await sleep(POLL_MS, undefined, { signal });
    }
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
}

function tryToLock(lock: DatabaseSync): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false;
    throw error;
  }
}

/** Nothing but SQLite may open a file that is there: a process that closes one loses all its locks on it. */
function makeLockFile(file: string, user: UnprivilegedUser | undefined): void {
  if (fs.lstatSync(file, { throwIfNoEntry: false }) === undefined) {
    const created = fs.openSync(file, 'wx', 0o600);
    if (user !== undefined) fs.fchownSync(created, user.uid, user.gid);
    fs.closeSync(created);
  }
  if (fs.lstatSync(file).isFile()) return;
  throw new RuntimeError(`${file} is no file. Remove it.`); // root must follow no link of another user
}
