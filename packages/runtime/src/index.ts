export { claimDataFolder, lockDataFolder, prepareDataFolder } from './embedded/data-folder.ts';
export type { FileLock } from './embedded/file-lock.ts';
export { openEmbeddedPostgres, openPrivateRedis } from './embedded/open.ts';
export type { EmbeddedServer, UseOptions } from './embedded/shared-server.ts';
export { describeFileError } from './file-errors.ts';
export { watchLaunchers } from './process/launchers.ts';
export { findExecutable } from './process/unprivileged-user.ts';
export { RuntimeError } from './runtime-error.ts';
export type { DatabaseUrls } from './settings/database-urls.ts';
export { parseDurationMs } from './settings/duration.ts';
export type { Environment } from './settings/read-variables.ts';
export type {
  HostAndPort,
  RedisAccess,
  RedisCluster,
  RedisTarget,
  SentinelRedis,
  SingleRedis,
  SocketRedis,
} from './settings/redis-target.ts';
