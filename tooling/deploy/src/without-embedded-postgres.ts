// Replaces packages/runtime/src/embedded/embedded-postgres.ts in a build: a production machine has no embedded server.
import { type openEmbeddedPostgres as OpenPostgres, RuntimeError } from '@petstore/runtime';

export const openEmbeddedPostgres: typeof OpenPostgres = async () => {
  throw new RuntimeError('There is no embedded PostgreSQL here. Set DATABASE_URL.'); // the settings are refused before this is called
};
