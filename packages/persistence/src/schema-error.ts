/**
 * The database has not the schema of this program, and no waiting will change that. The message is one line for the
 * person who operates it.
 */
export class SchemaError extends Error {
  override readonly name: string = 'SchemaError';
}

/** The database holds migrations that this program does not know: a newer one has been here. */
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
export class FailedMigrationError extends SchemaError {
  override readonly name = 'FailedMigrationError';

  constructor(cause: unknown) {
    super(`the database cannot be migrated: ${reasonOf(cause)}`, { cause });
  }
}

/** What PostgreSQL itself has said: the ORM puts its own words, and the whole statement, around it. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message;
}
