// PostgreSQL and Redis servers as such, to be run elsewhere than below a data folder: for tests and benchmarks.

export { findPostgresBinaries, type PostgresBinaries } from './postgres/postgres-binaries.ts';
export {
  initialiseCluster,
  POSTGRES_USER,
  type PostgresCluster,
  type PostgresParameters,
  type RunningPostgres,
  startPostgres,
  stopPostgres,
} from './postgres/postgres-cluster.ts';
export { findFreePort } from './process/free-port.ts';
export { findMemoryFolder } from './process/memory-folder.ts';
export { type ServerProcess, spawnServer, stopServer } from './process/server-process.ts';
export { findUnprivilegedUser, type UnprivilegedUser } from './process/unprivileged-user.ts';
export {
  findRedisProgram,
  type RedisPortOptions,
  type RunningRedis,
  startRedis,
  stopRedis,
} from './redis/redis-process.ts';
