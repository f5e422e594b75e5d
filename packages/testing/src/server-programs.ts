import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { RuntimeError } from '@petstore/runtime';
import {
  commandAsUser,
  findPostgresPrograms,
  findUnprivilegedUser,
  type PostgresPrograms,
  type UnprivilegedUser,
} from '@petstore/runtime/servers';
import { findRedis } from './find-executable.ts';
import { type ServerProgram, SURROUNDINGS, writePrivately } from './server-process.ts';

export { findFreePort } from './free-port.ts';
export { startServer, stopServer } from './server-process.ts';

/** Server parameters by name, as in postgresql.conf. */
export type PostgresParameters = Readonly<Record<string, string | number>>;

/**
 * Data need not survive a crash of the machine, so nothing waits for a disk. Commits still survive the end of the server,
 * because the system has them by then.
 */
export const TEST_POSTGRES_PARAMETERS: PostgresParameters = {
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
  // Autovacuum would visit hundreds of databases that exist for a second each.
  autovacuum: 'off',
  max_connections: 400,
  shared_buffers: '128MB',
  jit: 'off',
  // In the data folder, with which it is deleted: a server that is killed would leave it in /dev/shm.
  dynamic_shared_memory_type: 'mmap',
  timezone: 'UTC',
};

/** The folder with the programs of another PostgreSQL, of version 15 or newer. @default the embedded one */
// biome-ignore lint/style/noProcessEnv: a run's choice, which reaches this process however it is started
const POSTGRES_FOLDER = process.env['PETSTORE_TEST_POSTGRES'] || undefined;

/** Sorts by bytes, whatever the machine's locales; and sets the hashes per login, which PostgreSQL 15 cannot. */
const INITDB_ARGUMENTS = POSTGRES_FOLDER
  ? ['--locale-provider=libc']
  : ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--set=scram_iterations=1'];

/** The superuser of every cluster made here. */
const SUPERUSER = 'petstore';

/** A PostgreSQL data folder, and the programs for it. */
export interface PostgresCluster {
  readonly programs: Pick<PostgresPrograms, 'initdb' | 'postgres'>;
  /** Absolute path of the data folder. */
  readonly folder: string;
  readonly user: UnprivilegedUser | undefined;
  /** The password of the superuser. */
  readonly password: string;
}

/**
 * Makes an empty PostgreSQL data folder below a folder that does not exist yet.
 *
 * @param seed a cluster to copy, which has never run. That takes a small part of the time. @default a new one is made
 */
export async function createCluster(
  folder: string,
  seed?: Pick<PostgresCluster, 'folder' | 'password'>,
): Promise<PostgresCluster> {
  mkdirSync(folder);
  chmodSync(folder, 0o711); // the server may run as another user
  const user = findUnprivilegedUser();
  const programs =
    POSTGRES_FOLDER === undefined
      ? await findPostgresPrograms()
      : { initdb: join(POSTGRES_FOLDER, 'initdb'), postgres: join(POSTGRES_FOLDER, 'postgres') };
  const password = seed?.password ?? randomBytes(12).toString('hex');
  const cluster = { programs, folder: join(folder, 'data'), user, password };
  if (seed === undefined) await initialise(cluster, join(folder, 'password'));
  else await promisify(execFile)('cp', ['-a', seed.folder, cluster.folder]);
  return cluster;
}

async function initialise({ programs, folder, user, password }: PostgresCluster, passwordFile: string): Promise<void> {
  mkdirSync(folder, { mode: 0o700 });
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  writePrivately(passwordFile, password, user);
  const options = [`--pgdata=${folder}`, `--username=${SUPERUSER}`, `--pwfile=${passwordFile}`];
  const usual = ['--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', '--no-instructions', '--no-sync'];
  const [file, ...args] = commandAsUser([programs.initdb, ...options, ...usual, ...INITDB_ARGUMENTS], user);
  await promisify(execFile)(file, args, SURROUNDINGS);
}

/** The superuser's URL of the database `postgres`. */
export const urlOf = ({ password }: PostgresCluster, port: number): string =>
  `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`;

/** PostgreSQL on a port of the loopback interface. */
export function postgresProgram(
  { programs, folder, user }: PostgresCluster,
  port: number,
  parameters: PostgresParameters,
): ServerProgram {
  const all = { ...parameters, port, listen_addresses: '127.0.0.1', unix_socket_directories: '' };
  const settings = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return {
    name: 'PostgreSQL',
    command: [programs.postgres, '-D', folder, ...settings],
    user,
    logFile: `${folder}.log`,
    ready: /database system is ready to accept/,
    stopSignal: 'SIGINT', // the fast stop, which cuts connections
  };
}

export interface RedisServerOptions {
  /** Directives by name, as in redis.conf. By default, nothing is saved to disk. */
  readonly config?: Readonly<Record<string, string | number>>;
  /** Runs it as a Sentinel. @default false */
  readonly sentinel?: boolean;
}

/**
 * Redis on a port of the loopback interface, with its data in an existing folder.
 *
 * @throws RuntimeError if this machine has no Redis
 */
export function redisProgram(folder: string, port: number, options: RedisServerOptions = {}): ServerProgram {
  const { config = {}, sentinel = false } = options;
  const program = findRedis();
  if (program === undefined) {
    throw new RuntimeError(
      'The tests need redis-server or valkey-server, and this machine has neither. ' +
        '"pnpm test" at the root brings one on Debian and Ubuntu; elsewhere install one.',
    );
  }
  const defaults = sentinel ? {} : { save: '""', appendonly: 'no', databases: 4096 };
  const all = { ...defaults, ...config, bind: '127.0.0.1', port, dir: `"${folder}"`, daemonize: 'no', logfile: '""' };
  const file = join(folder, 'redis.conf');
  writePrivately(
    file,
    Object.entries(all)
      .map((directive) => `${directive.join(' ')}\n`)
      .join(''),
    undefined,
  );
  return {
    name: 'Redis',
    command: [program, file, ...(sentinel ? ['--sentinel'] : [])],
    logFile: join(folder, 'redis.log'),
    ready: /eady to accept connections|Sentinel ID is/,
    stopSignal: 'SIGTERM',
  };
}
