import type { DatabaseServers } from '../database/servers.ts';
import { prepareStatement, type QuerySender } from '../database/statement.ts';
import { codeOf } from '../database/storage-error.ts';
import { MIGRATION_NAMES, MIGRATIONS_TABLE } from './migration-names.ts';
import { NewerDatabaseError, SchemaError, toSchemaError, toUnreadableMigrationsError } from './schema-error.ts';

/** The migrations of a database, in order. */
interface MigrationStatus {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** Applied migrations of a newer program that this program can work with. */
  readonly newer: readonly string[];
}

export interface Migrations {
  /**
   * Takes two queries.
   *
   * @throws NewerDatabaseError if a newer program has migrated the database so that this one cannot work on it
   * @throws SchemaError if the applied migrations cannot be listed, or there is no schema for the tables
   */
  status(): Promise<MigrationStatus>;
  /**
   * Compares an up-to-date database with what this program expects of it.
   *
   * @returns the SQL statements that would correct the tables; empty if they are correct
   * @throws SchemaError if there is no schema for the tables
   */
  drift(): Promise<readonly string[]>;
  /**
   * Brings an empty or older database up to date. Several processes may do so at once. Takes two queries if nothing is
   * pending.
   *
   * @returns the names of the migrations that were pending
   * @throws SchemaError as {@link status}, and if the database refuses a migration; those before it remain
   */
  migrate(): Promise<readonly string[]>;
  /**
   * Checks that the database has the schema of this program, and changes nothing.
   *
   * @throws SchemaError if migrations are pending, and as {@link status}
   */
  assertMigrated(): Promise<void>;
}

/**
 * Finds the schema in which the tables are or will be made, and whether migrations were applied there. The session's
 * `search_path`, which is the role's own, decides. A later schema in it may have another program's table of the same name.
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
      await status(); // a newer program may have migrated first
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
    // MikroORM creates its table before the first migration, which may have failed.
    if (codeOf(error) === UNDEFINED_TABLE) return [];
    throw toUnreadableMigrationsError(error);
  }
}

const UNDEFINED_TABLE = '42P01';
