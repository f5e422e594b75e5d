import { StorageUnavailableError } from '@petstore/domain';

/**
 * The database has not the schema of this program, and no waiting will change that. The message is one line for the
 * person who operates it.
 */
export class SchemaError extends Error {
  override readonly name: string = 'SchemaError';
}

/** A newer program has changed the schema in a way with which this one cannot run. */
export class NewerDatabaseError extends SchemaError {
  override readonly name = 'NewerDatabaseError';
  readonly unknownMigrations: readonly string[];

  constructor(unknownMigrations: readonly string[]) {
    super(
      `the database was migrated by a newer version of this program (${unknownMigrations.join(', ')}); run that version`,
    );
    this.unknownMigrations = unknownMigrations;
  }
}

/** The database is empty or older, and must not be changed. */
export class LackingMigrationsError extends SchemaError {
  override readonly name = 'LackingMigrationsError';

  constructor(pending: readonly string[]) {
    super(`the database lacks migrations (${pending.join(', ')}), and MIGRATE is off; set MIGRATE=on to apply them`);
  }
}

/** PostgreSQL refuses what a migration needs: the role may not create tables, or others have the names of ours. */
class FailedMigrationError extends SchemaError {
  override readonly name = 'FailedMigrationError';

  constructor(reason: string, cause: unknown) {
    super(`the database cannot be migrated: ${reason}`, { cause });
  }
}

/** What PostgreSQL's errors have as their code, and none of ours; the system's names, such as EPERM, have no digit. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/;

/** Says in one line what PostgreSQL refused. What else went wrong, such as a defect of ours, stays as it is. */
export function toSchemaError(error: unknown): unknown {
  if (error instanceof StorageUnavailableError) return error;
  const said = innermostOf(error);
  const isRefusal = said instanceof Error && 'code' in said && SQLSTATE.test(String(said.code));
  return isRefusal ? new FailedMigrationError(said.message, error) : error;
}

/** The ORM puts its own words, and the whole statement, around what PostgreSQL itself has said. */
const innermostOf = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof Error ? innermostOf(error.cause) : error;
