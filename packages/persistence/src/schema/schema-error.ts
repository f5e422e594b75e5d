import { StorageUnavailableError } from '@petstore/domain';
import { reportOf, SQLSTATE } from '../database/errors.ts';

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

interface Refusal {
  readonly failure: string;
  /** What would be right, by the code of PostgreSQL's error. */
  readonly remedies: Readonly<Record<string, string>>;
}

/** What PostgreSQL may refuse. */
const REFUSALS: Readonly<Record<'migrate' | 'listMigrations', Refusal>> = {
  migrate: {
    failure: 'the database cannot be migrated',
    remedies: {
      [SQLSTATE.permissionDenied]: '; it needs a role like petstore_owner (docs/operations.md, "Roles")',
      [SQLSTATE.duplicateTable]: '; give the service a database, or a schema in search_path, of its own',
    },
  },
  listMigrations: {
    failure: 'the applied migrations cannot be read',
    remedies: { [SQLSTATE.permissionDenied]: '; grant select on it' },
  },
};

/**
 * Converts the error with which PostgreSQL refused to a SchemaError of one line: the role may not create or read tables, or
 * another program has tables with these names. Any other error, such as a defect of ours, is returned unchanged.
 */
export function toSchemaError(error: unknown, refused: keyof typeof REFUSALS): unknown {
  const report = error instanceof StorageUnavailableError ? undefined : reportOf(innermostOf(error));
  if (report === undefined) return error;
  const { failure, remedies } = REFUSALS[refused];
  return new SchemaError(`${failure}: ${report.message}${remedies[report.code] ?? ''}`, { cause: error });
}

/** PostgreSQL's own error, without the ORM's wrappers, which repeat the whole statement. */
const innermostOf = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof Error ? innermostOf(error.cause) : error;
