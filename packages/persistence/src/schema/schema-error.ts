import { StorageUnavailableError } from '@petstore/domain';
import { codeOf, isReported, SQLSTATE } from '../database/errors.ts';

/**
 * The database lacks the schema that this program needs. Waiting does not help. The message is one line for the operator.
 */
export class SchemaError extends Error {
  override readonly name: string = 'SchemaError';
}

/** A newer program has migrated the database, and this one cannot work on it. */
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

/** What would be right, by the code of PostgreSQL's error. */
const REMEDIES: Readonly<Record<string, string>> = {
  [SQLSTATE.permissionDenied]: '; it takes a role like petstore_owner (docs/operations.md, "Roles")',
  [SQLSTATE.duplicateTable]: '; give the service a database, or a schema in search_path, of its own',
};

/**
 * Converts the error with which PostgreSQL refused a migration to a SchemaError of one line: the role may not create tables,
 * or another program has tables with these names. Any other error, such as a defect of ours, is returned unchanged.
 */
export function toSchemaError(error: unknown): unknown {
  const said = refusalOf(error);
  if (said === undefined) return error;
  const remedy = REMEDIES[codeOf(said) ?? ''] ?? '';
  return new SchemaError(`the database cannot be migrated: ${said.message}${remedy}`, { cause: error });
}

/** Like `toSchemaError`, for a failure to read the applied migrations. */
export function toUnreadableMigrationsError(error: unknown): unknown {
  const said = refusalOf(error);
  if (said === undefined) return error;
  const remedy = codeOf(said) === SQLSTATE.permissionDenied ? '; grant select on it' : '';
  return new SchemaError(`which migrations the database has cannot be read: ${said.message}${remedy}`, {
    cause: error,
  });
}

function refusalOf(error: unknown): Error | undefined {
  if (error instanceof StorageUnavailableError) return undefined;
  const said = innermostOf(error);
  return isReported(said) ? said : undefined;
}

/** PostgreSQL's own error, without the ORM's wrappers, which repeat the whole statement. */
const innermostOf = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof Error ? innermostOf(error.cause) : error;
