import { StorageUnavailableError } from '@petstore/domain';
import type { DatabaseServers } from '../database/servers.ts';
import { prepareStatement, type QuerySender } from '../database/statement.ts';
import { MIGRATION_NAMES } from './migration-names.ts';
import { NewerDatabaseError, SchemaError, toSchemaError, toUnreadableMigrationsError } from './schema-error.ts';

/** Which migrations a database has seen, in order. */
export interface MigrationStatus {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** Of those applied, the ones of a newer program that let this one run. */
  readonly newer: readonly string[];
}

export interface Migrations {
  /**
   * Two queries.
   *
   * @throws NewerDatabaseError if a newer program has changed the schema in a way that this one cannot live with
   * @throws SchemaError if this is no database of ours
   * @throws StorageUnavailableError
   */
  status(): Promise<MigrationStatus>;
  /**
   * Compares a database that is up to date with what this program expects of it.
   *
   * @returns the statements of SQL that would make the tables what they should be; empty if they are
   * @throws SchemaError if there is no schema for the tables
   * @throws StorageUnavailableError
   */
  drift(): Promise<readonly string[]>;
  /**
   * Brings an empty or older database up to date. Safe when several processes do so at once. Costs two queries if
   * there is nothing to do.
   *
   * @returns the names of the migrations that were pending
   * @throws SchemaError likewise, and if the database refuses a migration; those before it remain
   * @throws StorageUnavailableError
   */
  migrate(): Promise<readonly string[]>;
  /**
   * Sees to it that the database has the schema of this program: migrates, or if it must not, only checks.
   *
   * @returns the names of the migrations that were pending
   * @throws SchemaError if the database has not, and cannot or must not get it
   * @throws StorageUnavailableError
   */
  prepare(options: { readonly mayMigrate: boolean }): Promise<readonly string[]>;
}

/**
 * In which schema the tables are, or are to be made, and whether something was migrated there: as the session's
 * `search_path` says, which is the role's own. Another program may have a table of the same name in a later schema of it.
 */
const FIND_SCHEMA = prepareStatement<readonly [schema: string | null, hasMigrations: 't' | 'f']>(
  'find-schema',
  `select current_schema(), to_regclass(quote_ident(current_schema()) || '.schema_migrations') is not null`,
);

const LIST_APPLIED = prepareStatement<readonly [name: string, oldestRelease: string | null]>(
  'list-migrations',
  `select name, oldest_release
   from schema_migrations left join schema_releases on migration = name
   order by id`,
);

/** What this release knows; also the releases before it, each by its last migration. */
const KNOWN: ReadonlySet<string> = new Set(MIGRATION_NAMES);

export function createMigrations(servers: DatabaseServers, reads: QuerySender): Migrations {
  const status = async (): Promise<MigrationStatus> => {
    const { hasMigrations } = await findSchema(reads);
    const rows = hasMigrations ? await listApplied(reads) : [];
    const applied = rows.map(([name]) => name);
    const newer = rows.filter(([name]) => !KNOWN.has(name));
    const tooNew = newer.filter(([, oldestRelease]) => oldestRelease === null || !KNOWN.has(oldestRelease));
    if (tooNew.length > 0) throw new NewerDatabaseError(tooNew.map(([name]) => name));
    const pending = MIGRATION_NAMES.filter((name) => !applied.includes(name));
    return { applied, pending, newer: newer.map(([name]) => name) };
  };
  const migrate = async (): Promise<readonly string[]> => {
    const { pending } = await status();
    if (pending.length === 0) return pending;
    await applyMigrations(servers, reads);
    await status(); // a newer program may have been first
    return pending;
  };
  return {
    status,
    async drift() {
      const [{ findSchemaDrift }, { schema }] = await Promise.all([import('./schema-drift.ts'), findSchema(reads)]);
      return findSchemaDrift(servers, schema);
    },
    migrate,
    async prepare({ mayMigrate }) {
      if (mayMigrate) return migrate();
      const { pending } = await status();
      if (pending.length > 0) {
        const names = pending.join(', ');
        throw new SchemaError(
          `the database lacks migrations (${names}), and MIGRATE is off; set MIGRATE=on to apply them`,
        );
      }
      return pending;
    },
  };
}

async function applyMigrations(servers: DatabaseServers, reads: QuerySender): Promise<void> {
  const [{ runMigrations }, { schema }] = await Promise.all([import('./run-migrations.ts'), findSchema(reads)]);
  try {
    await runMigrations(servers, schema);
  } catch (error) {
    throw toSchemaError(error);
  }
}

async function findSchema(reads: QuerySender) {
  const [row] = await reads.run(FIND_SCHEMA, []);
  const [schema = null, hasMigrations] = row ?? [];
  if (schema === null) {
    throw new SchemaError('there is no schema for the tables: the role may use none of those in its search_path');
  }
  return { schema, hasMigrations: hasMigrations === 't' };
}

async function listApplied(reads: QuerySender) {
  try {
    return await reads.run(LIST_APPLIED, []);
  } catch (error) {
    // MikroORM makes its table before the first migration, which may have failed.
    if (error instanceof StorageUnavailableError && isMissingTable(error.cause)) return [];
    throw toUnreadableMigrationsError(error);
  }
}

const isMissingTable = (cause: unknown): boolean => cause instanceof Error && 'code' in cause && cause.code === '42P01';
