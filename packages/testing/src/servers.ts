import { join } from 'node:path';
import { type PostgresParameters, startPostgres, stopPostgres, stopRedis } from '@petstore/runtime/servers';
import { findLastingPort } from './lasting-port.ts';
import { createTestCluster, TEST_POSTGRES_PARAMETERS } from './postgres-process.ts';
import { type RedisServerOptions, startTestRedis } from './redis-process.ts';
import { runServerUnderTest, type ServerUnderTest } from './server-under-test.ts';
import { createTemporaryFolder, endWithTestRun } from './temporary-folder.ts';

export type { RedisServerOptions };

/** Starts a private Redis server on a port of the loopback interface. It takes about 20 ms. */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<ServerUnderTest> {
  const folder = createTemporaryFolder();
  const port = options.port ?? (await findLastingPort());
  return runServerUnderTest({
    port,
    url: `redis://127.0.0.1:${port}`,
    start: async () => (await startTestRedis(folder.path, { ...options, port })).process,
    stop: stopRedis,
    register: endWithTestRun,
    removeData: () => folder[Symbol.dispose](),
  });
}

/** Starts a private PostgreSQL server on a port of the loopback interface. It takes about a second. */
export async function startPostgresServer(parameters: PostgresParameters = {}): Promise<ServerUnderTest> {
  const folder = createTemporaryFolder();
  const { cluster, urlAt } = await createTestCluster(join(folder.path, 'postgres'));
  const port = await findLastingPort();
  return runServerUnderTest({
    port,
    url: urlAt(port),
    start: async () => (await startPostgres(cluster, { ...TEST_POSTGRES_PARAMETERS, ...parameters }, port)).process,
    stop: stopPostgres,
    register: endWithTestRun,
    removeData: () => folder[Symbol.dispose](),
  });
}
