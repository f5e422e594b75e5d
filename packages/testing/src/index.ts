// Tools for tests. To wait for a condition, use vitest's `expect.poll`, or `vi.waitFor` and `vi.waitUntil` with
// `PATIENTLY`.

export { findExecutable } from './find-executable.ts';
export { findFreePort } from './free-port.ts';
export { startHttpServer, type TestHttpServer } from './http-server.ts';
export { readMemoryInUse } from './memory-in-use.ts';
export { type MovingAddress, openMovingAddress } from './moving-address.ts';
export { type PgBouncerOptions, startPgBouncer } from './pgbouncer.ts';
export {
  type PostgresStandby,
  REPLICATION_PARAMETERS,
  type StandbyOptions,
  startPostgresStandby,
} from './postgres-standby.ts';
export {
  type PrivatePostgres,
  type PrivateServer,
  startPostgresServer,
  startRedisServer,
} from './private-server.ts';
export { SELF_SIGNED } from './self-signed.ts';
export type { RedisServerOptions } from './server-programs.ts';
export { createTemporaryFolder, endWithTestRun, type TemporaryFolder } from './temporary-folder.ts';
export { createTestDatabase, type DatabaseTemplate, type TestDatabase } from './test-database.ts';
export { createTestRedis, type TestRedis } from './test-redis.ts';
export { type ManualClock, manualClock, PATIENCE_MS, PATIENTLY } from './time.ts';
