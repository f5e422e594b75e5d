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

/** What PostgreSQL's errors have as their code, and none of ours; the system's names, such as EPERM, have no digit. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/;

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * Says in one line what PostgreSQL refused of a migration: the role may not create tables, or another program has tables
 * of these names. What else went wrong, such as a defect of ours, stays as it is.
 */
export function toSchemaError(error: unknown): unknown {
  const said = refusalOf(error);
  return said === undefined
    ? error
    : new SchemaError(`the database cannot be migrated: ${said.message}`, { cause: error });
}

/** The same if the migrations are only read. */
export function toUnreadableMigrationsError(error: unknown): unknown {
  const said = refusalOf(error);
  if (said === undefined) return error;
  const remedy = 'code' in said && said.code === INSUFFICIENT_PRIVILEGE ? '; grant select on it' : '';
  return new SchemaError(`which migrations the database has cannot be read: ${said.message}${remedy}`, {
    cause: error,
  });
}

function refusalOf(error: unknown): Error | undefined {
  if (error instanceof StorageUnavailableError) return undefined;
  const said = innermostOf(error);
  return said instanceof Error && 'code' in said && SQLSTATE.test(String(said.code)) ? said : undefined;
}

/** The ORM puts its own words, and the whole statement, around what PostgreSQL itself has said. */
const innermostOf = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof Error ? innermostOf(error.cause) : error;
