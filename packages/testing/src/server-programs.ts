import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { RuntimeError } from '@petstore/runtime';
import { findPostgresPrograms, findUnprivilegedUser } from '@petstore/runtime/servers';
import {
  initialiseCluster,
  POSTGRES_USER,
  type PostgresCluster,
  type PostgresParameters,
} from './servers/postgres-cluster.ts';
import { findRedisProgram, type RunningRedis, startRedis } from './servers/redis-process.ts';

export { type PostgresParameters, startPostgres, stopPostgres } from './servers/postgres-cluster.ts';
export { stopRedis } from './servers/redis-process.ts';

/**
 * Data need not survive a crash of the machine, so nothing waits for a disk. What was committed survives the end of the
 * server all the same, as the system has it by then.
 */
export const TEST_POSTGRES_PARAMETERS: PostgresParameters = {
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
  // Hundreds of databases that live for a second each would be visited in turn.
  autovacuum: 'off',
  max_connections: 400,
  shared_buffers: '128MB',
  jit: 'off',
  // In the data folder, where it goes away with it: a server that is killed would leave it in /dev/shm.
  dynamic_shared_memory_type: 'mmap',
  timezone: 'UTC',
};

/** The folder with the programs of another PostgreSQL, of version 15 or newer. @default the embedded one */
// biome-ignore lint/style/noProcessEnv: a run's choice, which reaches this process however it is started
const POSTGRES_FOLDER = process.env['PETSTORE_TEST_POSTGRES'] || undefined;

const findTestedPostgres = async (): Promise<PostgresCluster['programs']> =>
  POSTGRES_FOLDER === undefined
    ? findPostgresPrograms()
    : { initdb: join(POSTGRES_FOLDER, 'initdb'), postgres: join(POSTGRES_FOLDER, 'postgres') };

export interface TestCluster {
  readonly cluster: PostgresCluster;
  readonly password: string;
  /** The superuser's address of the database `postgres`. */
  urlAt(port: number): string;
}

/** A data folder whose server has never run, and the superuser's password in it. */
export interface ClusterSeed {
  readonly folder: string;
  readonly password: string;
}

/**
 * Makes an empty PostgreSQL data folder below a folder that does not exist yet.
 *
 * @param seed what to copy, which takes a small part of the time. @default none, it is made anew
 */
export async function createTestCluster(folder: string, seed?: ClusterSeed): Promise<TestCluster> {
  mkdirSync(folder);
  chmodSync(folder, 0o711); // the server may run as another user
  const user = findUnprivilegedUser();
  const password = seed?.password ?? randomBytes(12).toString('hex');
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user !== undefined) chownSync(passwordFile, user.uid, user.gid);
  const cluster: PostgresCluster = {
    programs: await findTestedPostgres(),
    folder: join(folder, 'data'),
    logFile: join(folder, 'postgres.log'),
    passwordFile,
    user,
  };
  if (seed === undefined) {
    // How many hashes a login takes is fixed when the password is stored; PostgreSQL before 16 always takes 4,096.
    const options = POSTGRES_FOLDER ? { localeProvider: 'libc' as const } : { parameters: { scram_iterations: 1 } };
    await initialiseCluster(cluster, options);
  } else {
    await promisify(execFile)('cp', ['-a', seed.folder, cluster.folder]);
  }
  return { cluster, password, urlAt: (port) => `postgres://${POSTGRES_USER}:${password}@127.0.0.1:${port}/postgres` };
}

export interface RedisServerOptions {
  /** Directives by name, as in redis.conf. Nothing is saved to disk unless they say so. */
  readonly config?: Readonly<Record<string, string | number>>;
  /** @default a free one */
  readonly port?: number;
  /** Runs it as a Sentinel. @default false */
  readonly sentinel?: boolean;
}

/** Starts a Redis server in a folder, which is made if it does not exist. */
export async function startTestRedis(folder: string, options: RedisServerOptions = {}): Promise<RunningRedis> {
  const program = findRedisProgram();
  if (program === undefined) {
    throw new RuntimeError(
      'A Redis server is needed, and this machine has neither redis-server nor valkey-server. ' +
        'Install one: apt-get install redis-server (Debian, Ubuntu), brew install redis (macOS).',
    );
  }
  mkdirSync(folder, { recursive: true });
  const { config, ...rest } = options;
  const defaults = rest.sentinel ? {} : { save: '""', appendonly: 'no', databases: 4096 };
  return startRedis({
    program,
    folder,
    logFile: join(folder, 'redis.log'),
    config: { ...defaults, ...config },
    ...rest,
  });
}
