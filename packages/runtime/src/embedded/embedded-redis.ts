import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { RuntimeError } from '../errors.ts';
import { findExecutable, REDIS_STARTER, UNPACKED_REDIS_FOLDER } from '../process/find-executable.ts';
import { awaitExit, runTool, STOP_TIMEOUT_MS, startServer } from '../process/server-process.ts';
import type { RedisTarget } from '../settings/redis-target.ts';
import { type DataFolder, findDataFolder, isListening, makePrivate } from './data-folder.ts';

/** The Redis below a data folder, which belongs to one server: for evaluation, because nothing restarts it if it dies. */
export interface EmbeddedRedis {
  readonly target: RedisTarget;
  stop(): Promise<void>;
}

/** The limiter needs this version. Valkey begins after it. */
const MAJOR_VERSION_MIN = 7;

const socketOf = ({ socketFolder }: DataFolder): string => join(socketFolder, 'redis.sock');

const targetAt = (socket: string): RedisTarget => ({ type: 'socket', path: socket, tls: false });

/**
 * Runs the machine's redis-server or valkey-server, or the Redis that the tests have unpacked, below a data folder that this
 * server has claimed. One that a killed server left is taken over.
 *
 * @param signal aborts a start in progress
 * @returns `undefined` if there is no such program
 * @throws RuntimeError, of one line, if it cannot be run
 * @throws AbortError
 */
export async function openEmbeddedRedis(folder: DataFolder, signal: AbortSignal): Promise<EmbeddedRedis | undefined> {
  const program = findExecutable(['redis-server', 'valkey-server', join(UNPACKED_REDIS_FOLDER, REDIS_STARTER)]);
  const socket = socketOf(folder);
  const isLeft = await isListening(socket);
  if (program === undefined && !isLeft) return undefined;
  const server = program === undefined || isLeft ? undefined : await startRedis(program, folder, signal);
  return {
    target: targetAt(socket),
    async stop() {
      const connection = connect(socket, () => connection.write('SHUTDOWN FORCE\r\n')).resume(); // it writes its data
      const closed = once(connection, 'close', { signal: AbortSignal.timeout(STOP_TIMEOUT_MS) });
      await closed.catch(() => server?.kill('SIGKILL')); // it has ended already, or hangs
      connection.destroy();
      await awaitExit(server);
    },
  };
}

async function startRedis(program: string, dataFolder: DataFolder, signal: AbortSignal) {
  const { path, user, socketFolder } = dataFolder;
  const version = await runTool([program, '--version'], user);
  if (Number(/ v=(\d+)/.exec(version)?.[1]) < MAJOR_VERSION_MIN) {
    throw new RuntimeError(`${program} is too old (it needs version ${MAJOR_VERSION_MIN}): ${version.trim()}`);
  }
  const folder = join(path, 'redis');
  makePrivate(folder, user);
  makePrivate(socketFolder, user);
  const places = ['--port', '0', '--unixsocket', socketOf(dataFolder), '--dir', folder];
  const command = [program, ...places, '--appendonly', 'yes', '--save', ''] as const;
  const ready = /eady to accept connections/;
  return startServer({ name: 'Redis', command, user, logFile: `${folder}.log`, ready }, signal);
}

/** The Redis that a server runs below a data folder, if one does. */
export async function findEmbeddedRedis(path: string): Promise<RedisTarget | undefined> {
  const folder = findDataFolder(path);
  return folder !== undefined && (await isListening(socketOf(folder))) ? targetAt(socketOf(folder)) : undefined;
}
