import type { DatabaseServers } from '../database/servers.ts';
import { prepareStatement, type QuerySender } from '../database/statement.ts';
import { codeOf } from '../database/storage-error.ts';
import { MIGRATION_NAMES, MIGRATIONS_TABLE } from './migration-names.ts';
import { NewerDatabaseError, SchemaError, toSchemaError, toUnreadableMigrationsError } from './schema-error.ts';

/** Which migrations a database has seen, in order. */
interface MigrationStatus {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** Of those applied, the ones of a newer program that let this one run. */
  readonly newer: readonly string[];
}

export interface Migrations {
  /**
   * Two queries.
   *
   * @throws NewerDatabaseError if a newer program has migrated the database so that this one cannot work on it
   * @throws SchemaError if the applied migrations cannot be listed, or there is no schema for the tables
   */
  status(): Promise<MigrationStatus>;
  /**
   * Compares a database that is up to date with what this program expects of it.
   *
   * @returns the statements of SQL that would make the tables what they should be; empty if they are
   * @throws SchemaError if there is no schema for the tables
   */
  drift(): Promise<readonly string[]>;
  /**
   * Brings an empty or older database up to date. Safe when several processes do so at once. Costs two queries if
   * there is nothing to do.
   *
   * @returns the names of the migrations that were pending
   * @throws SchemaError likewise, and if the database refuses a migration; those before it remain
   */
  migrate(): Promise<readonly string[]>;
  /**
   * Checks that the database has the schema of this program, and leaves it as it is.
   *
   * @throws SchemaError if migrations are pending, and likewise
   */
  assertMigrated(): Promise<void>;
}

/**
 * In which schema the tables are, or are to be made, and whether something was migrated there: as the session's
 * `search_path` says, which is the role's own. Another program may have a table of the same name in a later schema of it.
 */
const FIND_SCHEMA = prepareStatement<readonly [schema: string | null, hasMigrations: 't' | 'f']>(
  'find-schema',
  `select current_schema(), to_regclass(quote_ident(current_schema()) || '.${MIGRATIONS_TABLE}') is not null`,
);

const LIST_APPLIED = prepareStatement<readonly [name: string, oldestCompatibleMigration: string | null]>(
  'list-migrations',
  `select name, oldest_release
   from ${MIGRATIONS_TABLE} left join schema_releases on migration = name
   order by id`,
);

/** The migrations that this program knows. */
const KNOWN: ReadonlySet<string> = new Set(MIGRATION_NAMES);

export function createMigrations(servers: DatabaseServers, reads: QuerySender): Migrations {
  const status = async (): Promise<MigrationStatus> => {
    const { hasMigrations } = await findSchema(reads);
    const rows = hasMigrations ? await listApplied(reads) : [];
    const applied = rows.map(([name]) => name);
    const newer = rows.filter(([name]) => !KNOWN.has(name));
    const tooNew = newer.filter(
      ([, oldestCompatibleMigration]) => oldestCompatibleMigration === null || !KNOWN.has(oldestCompatibleMigration),
    );
    if (tooNew.length > 0) throw new NewerDatabaseError(tooNew.map(([name]) => name));
    const pending = MIGRATION_NAMES.filter((name) => !applied.includes(name));
    return { applied, pending, newer: newer.map(([name]) => name) };
  };
  return {
    status,
    async drift() {
      const [{ findSchemaDrift }, { schema }] = await Promise.all([import('./schema-drift.ts'), findSchema(reads)]);
      return findSchemaDrift(servers, schema);
    },
    async migrate() {
      const { pending } = await status();
      if (pending.length === 0) return pending;
      await applyMigrations(servers, reads);
      await status(); // a newer program may have been first
      return pending;
    },
    async assertMigrated() {
      const { pending } = await status();
      if (pending.length === 0) return;
      const names = pending.join(', ');
      throw new SchemaError(
        `the database lacks migrations (${names}), and MIGRATE is off; set MIGRATE=on to apply them`,
      );
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
    if (codeOf(error) === UNDEFINED_TABLE) return [];
    throw toUnreadableMigrationsError(error);
  }
}

const UNDEFINED_TABLE = '42P01';
