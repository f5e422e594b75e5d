import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { RuntimeError } from '@petstore/runtime';
import * as runtime from '@petstore/runtime/servers';
import { findRedis } from './find-executable.ts';

export { findFreePort } from './free-port.ts';
export { startServer, stopServer } from './server-process.ts';

/**
 * Data need not survive a crash of the machine, so nothing waits for a disk. Commits still survive the end of the server,
 * because the system has them by then.
 */
export const TEST_POSTGRES_PARAMETERS: runtime.PostgresParameters = {
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
const INITDB = POSTGRES_FOLDER ? ['--locale-provider=libc'] : [...runtime.BUILTIN_LOCALE, '--set=scram_iterations=1'];

/** A PostgreSQL data folder, and the programs for it. */
export interface PostgresCluster extends runtime.Cluster {
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
  const user = runtime.findUnprivilegedUser();
  const programs = findPrograms();
  const password = seed?.password ?? randomBytes(12).toString('hex');
  const cluster = { programs, folder: join(folder, 'data'), logFile: join(folder, 'data.log'), user, password };
  if (seed === undefined) {
    const passwordFile = join(folder, 'password');
    writePrivately(passwordFile, password, user);
    await runtime.createCluster(cluster, ['--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--no-sync', ...INITDB]);
  } else await promisify(execFile)('cp', ['-a', seed.folder, cluster.folder]);
  return cluster;
}

function findPrograms(): runtime.Cluster['programs'] {
  if (POSTGRES_FOLDER === undefined) return runtime.findPostgresPrograms();
  const pathOf = (program: string) => join(POSTGRES_FOLDER, program);
  return { initdb: pathOf('initdb'), pg_ctl: pathOf('pg_ctl'), postgres: pathOf('postgres') };
}

/** The superuser's URL of the database `postgres`. */
export const urlOf = ({ password }: PostgresCluster, port: number): string =>
  `postgres://${runtime.SUPERUSER}:${password}@127.0.0.1:${port}/postgres`;

/** PostgreSQL on a port of the loopback interface. */
export const postgresProgram = (
  cluster: PostgresCluster,
  port: number,
  parameters: runtime.PostgresParameters,
): runtime.ServerProgram =>
  runtime.postgresProgram(cluster, { ...parameters, port, listen_addresses: '127.0.0.1', unix_socket_directories: '' });

/** Writes a file that only a user and root can read. @param user `undefined`: the user of this process */
export function writePrivately(file: string, text: string, user: runtime.UnprivilegedUser | undefined): void {
  writeFileSync(file, text, { mode: 0o600 });
  if (user !== undefined) chownSync(file, user.uid, user.gid);
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
export function redisProgram(folder: string, port: number, options: RedisServerOptions = {}): runtime.ServerProgram {
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
  };
}
