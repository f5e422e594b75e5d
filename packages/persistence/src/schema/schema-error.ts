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

/** PostgreSQL does not let us see what was migrated: the role may not read it, or another program has a table of that name. */
class UnreadableMigrationsError extends SchemaError {
  override readonly name = 'UnreadableMigrationsError';

  constructor(reason: string, cause: unknown) {
    super(`which migrations the database has cannot be read: ${reason}`, { cause });
  }
}

/** What PostgreSQL's errors have as their code, and none of ours; the system's names, such as EPERM, have no digit. */
const SQLSTATE = /^(?=.*\d)[0-9A-Z]{5}$/;

/** Says in one line what PostgreSQL refused of a migration. What else went wrong, such as a defect of ours, stays as it is. */
export function toSchemaError(error: unknown): unknown {
  const said = refusalOf(error);
  return said === undefined ? error : new FailedMigrationError(said.message, error);
}

/** The same where the migrations are only read. */
export function toUnreadableMigrationsError(error: unknown): unknown {
  const said = refusalOf(error);
  if (said === undefined) return error;
  const isForbidden = 'code' in said && said.code === INSUFFICIENT_PRIVILEGE;
  return new UnreadableMigrationsError(isForbidden ? `${said.message}; grant select on it` : said.message, error);
}

const INSUFFICIENT_PRIVILEGE = '42501';

function refusalOf(error: unknown): Error | undefined {
  if (error instanceof StorageUnavailableError) return undefined;
  const said = innermostOf(error);
  return said instanceof Error && 'code' in said && SQLSTATE.test(String(said.code)) ? said : undefined;
}

/** The ORM puts its own words, and the whole statement, around what PostgreSQL itself has said. */
const innermostOf = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof Error ? innermostOf(error.cause) : error;
