// What is built instead of packages/runtime/src/embedded/open.ts: a machine that serves has no servers of ours.
import {
  type openEmbeddedPostgres as OpenPostgres,
  type openPrivateRedis as OpenRedis,
  RuntimeError,
} from '@petstore/runtime';

export const openEmbeddedPostgres: typeof OpenPostgres = async () => {
  throw new RuntimeError('There is no embedded PostgreSQL here. Set DATABASE_URL.'); // settings have been refused before
};

/** As on a machine without a Redis: limits are counted in the process. */
export const openPrivateRedis: typeof OpenRedis = async () => undefined;
