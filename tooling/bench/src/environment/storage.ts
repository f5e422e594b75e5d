import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createTestCluster,
  type PostgresParameters,
  startPostgres,
  startTestRedis,
  stopPostgres,
  stopRedis,
} from '@petstore/testing/server-programs';

/** As a small production server is set up: commits reach the disk. */
const POSTGRES_PARAMETERS: PostgresParameters = {
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  max_connections: 100,
  max_wal_size: '4GB',
  checkpoint_timeout: '30min',
  random_page_cost: 1.1,
  wal_compression: 'on',
  jit: 'off',
  // It would begin during the measurement of one contender and not of the other; tables are vacuumed once they are filled.
  autovacuum: 'off',
  timezone: 'UTC',
};

/** A PostgreSQL and a Redis of this run alone. Disposing of them ends them and deletes their data. */
export interface Storage extends AsyncDisposable {
  readonly folder: string;
  readonly postgresPid: number;
  readonly redisPid: number;
  readonly redisUrl: string;
  databaseUrl(name: string): string;
}

/** @throws Error that says what is missing on this machine */
export async function openStorage(): Promise<Storage> {
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const redis = await startTestRedis(join(folder, 'redis'));
  stack.defer(() => stopRedis(redis.process));
  const { cluster, urlAt } = await createTestCluster(join(folder, 'postgres'));
  const postgres = await startPostgres(cluster, POSTGRES_PARAMETERS);
  stack.defer(() => stopPostgres(postgres.process));
  const owned = stack.move();
  return {
    folder,
    postgresPid: postgres.process.pid,
    redisPid: redis.process.pid,
    redisUrl: `redis://127.0.0.1:${redis.port}`,
    databaseUrl: (name) => urlAt(postgres.port).replace(/\/postgres$/, `/${name}`),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
