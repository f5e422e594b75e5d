import { StorageUnavailableError } from '@petstore/domain';
import type { DatabaseServers } from '../connections/database-servers.ts';
import { prepareStatement, type QuerySender, runStatement } from '../statements/pipelined-query.ts';
import { MIGRATION_NAMES, MIGRATIONS_TABLE } from './migration-names.ts';
import { LackingMigrationsError, NewerDatabaseError, toSchemaError } from './schema-error.ts';

/** Which of this program's migrations a database has seen, in order. */
export interface MigrationStatus {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
}

export interface Migrations {
  /**
   * One query.
   *
   * @throws SchemaError where a newer program has been here, or this is no database of ours
   * @throws StorageUnavailableError
   */
  status(): Promise<MigrationStatus>;
  /**
   * Brings an empty or older database up to date. Safe when several processes do so at once. Costs one query where there
   * is nothing to do.
   *
   * @returns the names of the migrations that were pending
   * @throws SchemaError likewise, and where the database refuses a migration; nothing of it is applied then
   * @throws StorageUnavailableError
   */
  migrate(): Promise<readonly string[]>;
  /**
   * Sees to it that the database has the schema of this program: migrates, or where it must not, only looks.
   *
   * @returns the names of the migrations that were pending
   * @throws SchemaError where the database has not, and cannot or must not get it
   * @throws StorageUnavailableError
   */
  prepare(options: { readonly mayMigrate: boolean }): Promise<readonly string[]>;
}

const LIST_APPLIED = prepareStatement<readonly [name: string]>(
  'list-migrations',
  `select name from ${MIGRATIONS_TABLE} order by id`,
);

export function createMigrations(servers: DatabaseServers, reads: QuerySender): Migrations {
  const status = async (): Promise<MigrationStatus> => {
    const applied = await listApplied(reads);
    const known: ReadonlySet<string> = new Set(MIGRATION_NAMES);
    const unknown = applied.filter((name) => !known.has(name));
    if (unknown.length > 0) throw new NewerDatabaseError(unknown);
    return { applied, pending: MIGRATION_NAMES.filter((name) => !applied.includes(name)) };
  };
  const migrate = async (): Promise<readonly string[]> => {
    const { pending } = await status();
    if (pending.length === 0) return pending;
    await applyMigrations(servers);
    await status(); // a newer program may have been first
    return pending;
  };
  return {
    status,
    migrate,
    async prepare({ mayMigrate }) {
      if (mayMigrate) return migrate();
      const { pending } = await status();
      if (pending.length > 0) throw new LackingMigrationsError(pending);
      return pending;
    },
  };
}

async function applyMigrations(servers: DatabaseServers): Promise<void> {
  const { runMigrations } = await import('./run-migrations.ts');
  try {
    await runMigrations(servers);
  } catch (error) {
    throw toSchemaError(error);
  }
}

async function listApplied(reads: QuerySender): Promise<readonly string[]> {
  try {
    const rows = await runStatement(reads, LIST_APPLIED, []);
    return rows.map(([name]) => name);
  } catch (error) {
    if (error instanceof StorageUnavailableError && isMissingTable(error.cause)) return [];
    throw toSchemaError(error);
  }
}

const isMissingTable = (cause: unknown): boolean => cause instanceof Error && 'code' in cause && cause.code === '42P01';
