export { claimDataFolder, prepareDataFolder } from './embedded/data-folder.ts';
export type { FileLock } from './embedded/file-lock.ts';
export { openEmbeddedPostgres, openPrivateRedis } from './embedded/open.ts';
export type { EmbeddedServer, UseOptions } from './embedded/shared-server.ts';
export { findExecutable } from './process/unprivileged-user.ts';
export { RuntimeError } from './runtime-error.ts';
export type {
  HostAndPort,
  RedisAccess,
  RedisCluster,
  RedisTarget,
  SentinelRedis,
  SingleRedis,
  SocketRedis,
} from './settings/redis-target.ts';
export {
  type Environment,
  readSettings,
  type Settings,
  SettingsError,
  type SettingsOptions,
} from './settings/settings.ts';
export type { LogFormat, LogLevel, TrustProxy } from './settings/variables.ts';
