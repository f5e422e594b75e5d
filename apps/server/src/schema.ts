import { type Migrations, NewerDatabaseError } from '@petstore/persistence';
import { RuntimeError } from '@petstore/runtime';

/**
 * Sees to it that the database has the schema of this program.
 *
 * @param migrate whether it may be changed for that
 * @returns the migrations that were applied
 * @throws RuntimeError where it is older and may not be changed, or of a newer program
 * @throws StorageUnavailableError
 */
export async function prepareSchema(migrations: Migrations, migrate: boolean): Promise<readonly string[]> {
  try {
    return await (migrate ? migrations.migrate() : assertUpToDate(migrations));
  } catch (error) {
    throw error instanceof NewerDatabaseError ? new RuntimeError(error.message, { cause: error }) : error;
  }
}

async function assertUpToDate(migrations: Migrations): Promise<readonly string[]> {
  const { pending } = await migrations.status();
  if (pending.length === 0) return pending;
  throw new RuntimeError(
    `The database lacks migrations (${pending.join(', ')}), and MIGRATE is off. ` +
      'Run "petstore migrate" with MIGRATE=on, or start with MIGRATE=on.',
  );
}
