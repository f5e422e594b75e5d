import { type Migrations, SchemaError } from '@petstore/persistence';
import { RuntimeError } from '@petstore/runtime';

/**
 * Sees to it that the database has the schema of this program.
 *
 * @param mayMigrate whether it may be changed for that
 * @returns the migrations that were applied
 * @throws RuntimeError where the database has it not, and cannot or must not get it
 * @throws StorageUnavailableError
 */
export async function prepareSchema(migrations: Migrations, mayMigrate: boolean): Promise<readonly string[]> {
  try {
    return await migrations.prepare({ mayMigrate });
  } catch (error) {
    throw error instanceof SchemaError ? new RuntimeError(error.message, { cause: error }) : error;
  }
}
