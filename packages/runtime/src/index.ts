export { claimDataFolder, prepareDataFolder } from './embedded/data-folder.ts';
export { openEmbeddedPostgres } from './embedded/embedded-postgres.ts';
export type { FileLock } from './embedded/file-lock.ts';
export { openPrivateRedis } from './embedded/private-redis.ts';
export type { EmbeddedServer, UseOptions } from './embedded/shared-server.ts';
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
export type { ServerProcess } from './process/server-process.ts';
export { findExecutable, findUnprivilegedUser, type UnprivilegedUser } from './process/unprivileged-user.ts';
export {
  findRedisProgram,
  type RedisProcessOptions,
  type RunningRedis,
  startRedis,
  stopRedis,
} from './redis/redis-process.ts';
export { RuntimeError } from './runtime-error.ts';
export type {
  HostAndPort,
  RedisAccess,
  RedisCluster,
  RedisTarget,
  SentinelRedis,
  SingleRedis,
} from './settings/redis-target.ts';
export {
  type Environment,
  readSettings,
  type Settings,
  SettingsError,
  type SettingsOptions,
} from './settings/settings.ts';
export type { LogFormat, LogLevel, TrustProxy } from './settings/variables.ts';
