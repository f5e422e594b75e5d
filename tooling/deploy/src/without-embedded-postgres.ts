// What is built instead of packages/runtime/src/embedded/embedded-postgres.ts: a machine that serves has no server of ours.
import { type openEmbeddedPostgres as OpenPostgres, RuntimeError } from '@petstore/runtime';

export const openEmbeddedPostgres: typeof OpenPostgres = async () => {
  throw new RuntimeError('There is no embedded PostgreSQL here. Set DATABASE_URL.'); // settings have been refused before
};
