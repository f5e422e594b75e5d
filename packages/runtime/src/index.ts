export { readCommit } from './commit.ts';
export { type EmbeddedPostgres, openEmbeddedPostgres } from './embedded/embedded-postgres.ts';
export { describeFileError } from './file-errors.ts';
export { watchLaunchers } from './process/launchers.ts';
export { RuntimeError } from './runtime-error.ts';
export type { DatabaseUrls } from './settings/database-urls.ts';
export { parseDurationMs } from './settings/duration.ts';
export type { Environment } from './settings/read-settings.ts';
export type { RedisTarget } from './settings/redis-target.ts';
