// Replaces packages/runtime/src/embedded/embedded-postgres.ts in a build: a production machine has no embedded server.
import { type findEmbeddedPostgres as Find, type openEmbeddedPostgres as Open, RuntimeError } from '@petstore/runtime';

const refuse = async (): Promise<never> => {
  throw new RuntimeError('There is no embedded PostgreSQL here. Set DATABASE_URL.'); // the settings are refused before this is called
};
export const openEmbeddedPostgres: typeof Open = refuse;
export const findEmbeddedPostgres: typeof Find = refuse;
