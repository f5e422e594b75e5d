import type { Database } from '../database/database.ts';
import { codeOf, SQLSTATE } from '../database/errors.ts';
import { prepareStatement } from '../database/statement.ts';
import { MIGRATION_NAMES, MIGRATIONS_TABLE } from './migration-list.ts';
import { NewerDatabaseError, SchemaError, toSchemaError } from './schema-error.ts';

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
   * Brings an empty or older database up to date. Several processes may do so at once. Takes two queries if nothing is
   * pending.
   *
   * @param onWait called every two seconds of a wait for another process that migrates, with a description of it
   * @returns the names of the migrations that were pending
   * @throws SchemaError as {@link status}, and if the database refuses a migration; those before it remain
   */
  migrate(onWait?: (holder: string) => void): Promise<readonly string[]>;
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
const FIND_SCHEMA = prepareStatement<{ readonly schema: string | null; readonly has_migrations: boolean }>(
  'find-schema',
  `select current_schema() as schema,
     to_regclass(quote_ident(current_schema()) || '.${MIGRATIONS_TABLE}') is not null as has_migrations`,
);

const LIST_APPLIED = prepareStatement<{ readonly name: string; readonly oldest_release: string | null }>(
  'list-migrations',
  `select name, oldest_release
   from ${MIGRATIONS_TABLE} left join schema_releases on migration = name
   order by id`,
);

/** The migrations that this program knows. */
const KNOWN: ReadonlySet<string> = new Set(MIGRATION_NAMES);

export function createMigrations(database: Database): Migrations {
  const status = async (): Promise<MigrationStatus> => {
    const { hasMigrations } = await findSchema(database);
    const rows = hasMigrations ? await listApplied(database) : [];
    const applied = rows.map(({ name }) => name);
    const newer = rows.filter(({ name }) => !KNOWN.has(name));
    const tooNew = newer.filter(({ oldest_release: oldest }) => oldest === null || !KNOWN.has(oldest));
    if (tooNew.length > 0) throw new NewerDatabaseError(tooNew.map(({ name }) => name));
    const pending = MIGRATION_NAMES.filter((name) => !applied.includes(name));
    return { applied, pending, newer: newer.map(({ name }) => name) };
  };
  return {
    status,
    async migrate(onWait) {
      const { pending } = await status();
      if (pending.length === 0) return pending;
      await applyMigrations(database, onWait);
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

async function applyMigrations(database: Database, onWait: ((holder: string) => void) | undefined): Promise<void> {
  const [{ runMigrations }, { schema }] = await Promise.all([import('./run-migrations.ts'), findSchema(database)]);
  try {
    await runMigrations(database, schema, { onWait });
  } catch (error) {
    throw toSchemaError(error, 'migrate');
  }
}

async function findSchema(database: Database) {
  const [row] = await database.run('requests', FIND_SCHEMA, []);
  if (row === undefined || row.schema === null) {
    throw new SchemaError(
      'there is no schema for the tables: the role has no permission to use any schema in its search_path',
    );
  }
  return { schema: row.schema, hasMigrations: row.has_migrations };
}

async function listApplied(database: Database) {
  try {
    return await database.run('requests', LIST_APPLIED, []);
  } catch (error) {
    // MikroORM creates its table before the first migration, which may have failed.
    if (codeOf(error) === SQLSTATE.undefinedTable) return [];
    throw toSchemaError(error, 'listMigrations');
  }
}
