import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  findPostgresBinaries,
  findRedisProgram,
  findUnprivilegedUser,
  initialiseCluster,
  POSTGRES_USER,
  type PostgresParameters,
  startPostgres,
  startRedis,
  stopPostgres,
  stopRedis,
} from '@petstore/runtime/servers';

/** As a small server of its own is set up: commits reach the disk. */
const POSTGRES_PARAMETERS: PostgresParameters = {
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  max_connections: 100,
  max_wal_size: '4GB',
  checkpoint_timeout: '30min',
  random_page_cost: 1.1,
  wal_compression: 'on',
  jit: 'off',
  // One that begins by itself would hit one contender and not the other; tables are vacuumed once they are filled.
  autovacuum: 'off',
  timezone: 'UTC',
};

/** A PostgreSQL and a Redis of this run alone. Disposing of them ends them and deletes their data. */
export interface Storage extends AsyncDisposable {
  /** For whatever else is written during the run. */
  readonly folder: string;
  readonly postgresPid: number;
  readonly redisPid: number;
  readonly redisUrl: string;
  databaseUrl(name: string): string;
}

/** @throws Error that says what is missing on this machine */
export async function openStorage(): Promise<Storage> {
  const program = findRedisProgram();
  if (program === undefined) {
    throw new Error(
      'The benchmark needs a Redis server, and this machine has neither redis-server nor valkey-server. ' +
        'Install one: "sudo apt-get install redis-server" (Debian), "brew install redis" (macOS).',
    );
  }
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const postgres = await openPostgres(folder);
  stack.defer(() => stopPostgres(postgres.server));
  const redisFolder = join(folder, 'redis');
  mkdirSync(redisFolder);
  const redis = await startRedis({
    program,
    folder: redisFolder,
    logFile: join(folder, 'redis.log'),
    config: { save: '""', appendonly: 'no' },
  });
  stack.defer(() => stopRedis(redis.process));
  const owned = stack.move();
  return {
    folder,
    postgresPid: postgres.server.pid,
    redisPid: redis.process.pid,
    redisUrl: `redis://127.0.0.1:${redis.port}`,
    databaseUrl: (name) => `${postgres.url}/${name}`,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function openPostgres(folder: string) {
  chmodSync(folder, 0o711); // the server may run as another user
  const user = findUnprivilegedUser();
  const password = randomBytes(12).toString('hex');
  const passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user !== undefined) chownSync(passwordFile, user.uid, user.gid);
  const cluster = {
    binaries: await findPostgresBinaries(),
    folder: join(folder, 'postgres'),
    logFile: join(folder, 'postgres.log'),
    passwordFile,
    user,
  };
  await initialiseCluster(cluster, { flush: false });
  const { port, process: server } = await startPostgres(cluster, POSTGRES_PARAMETERS);
  return { server, url: `postgres://${POSTGRES_USER}:${password}@127.0.0.1:${port}` };
}
