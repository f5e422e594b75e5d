// What tests are made with. To wait for something use vitest's own `expect.poll`, `vi.waitFor` or `vi.waitUntil`.

export { type ManualClock, manualClock } from './manual-clock.ts';
export { readMemoryInUse } from './memory-in-use.ts';
export type { ServerUnderTest } from './server-under-test.ts';
export { type RedisServerOptions, startPostgresServer, startRedisServer } from './servers.ts';
export { createTemporaryFolder, endWithTestRun, type TemporaryFolder } from './temporary-folder.ts';
export { createTestDatabase, type DatabaseTemplate, type TestDatabase } from './test-database.ts';
export { createTestRedis, type TestRedis } from './test-redis.ts';
export type { TestServers } from './test-servers.ts';
