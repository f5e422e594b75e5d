import { StorageUnavailableError } from '@petstore/domain';
import type { DatabaseServers } from '../database/servers.ts';
import { prepareStatement, type QuerySender } from '../database/statement.ts';
import { MIGRATION_NAMES, MIGRATIONS_TABLE } from './migration-names.ts';
import {
  LackingMigrationsError,
  NewerDatabaseError,
  toSchemaError,
  toUnreadableMigrationsError,
} from './schema-error.ts';

/** Which migrations a database has seen, in order. */
export interface MigrationStatus {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** Of those applied, the ones of a newer program, which let this one run. */
  readonly newer: readonly string[];
}

export interface Migrations {
  /**
   * One query.
   *
   * @throws NewerDatabaseError where a newer program has changed the schema in a way that this one cannot live with
   * @throws SchemaError where this is no database of ours
   * @throws StorageUnavailableError
   */
  status(): Promise<MigrationStatus>;
  /**
   * Compares a database that is up to date with what this program expects of it.
   *
   * @returns in words where they differ, such as `orders lacks the index orders_pet_id_id_index`
   * @throws StorageUnavailableError
   */
  drift(): Promise<readonly string[]>;
  /**
   * Brings an empty or older database up to date. Safe when several processes do so at once. Costs one query where there
   * is nothing to do.
   *
   * @returns the names of the migrations that were pending
   * @throws SchemaError likewise, and where the database refuses a migration; those before it remain
   * @throws StorageUnavailableError
   */
  migrate(): Promise<readonly string[]>;
  /**
   * Sees to it that the database has the schema of this program: migrates, or where it must not, only checks.
   *
   * @returns the names of the migrations that were pending
   * @throws SchemaError where the database has not, and cannot or must not get it
   * @throws StorageUnavailableError
   */
  prepare(options: { readonly mayMigrate: boolean }): Promise<readonly string[]>;
}

/** A database that an earlier release migrated last has no such column. */
const LIST_APPLIED = prepareStatement<readonly [name: string, oldestRelease: string | null]>(
  'list-migrations',
  `select name, to_jsonb(${MIGRATIONS_TABLE}) ->> 'oldest_release' from ${MIGRATIONS_TABLE} order by id`,
);

/** What this release knows; also the releases before it, each by its last migration. */
const KNOWN: ReadonlySet<string> = new Set(MIGRATION_NAMES);

export function createMigrations(servers: DatabaseServers, reads: QuerySender): Migrations {
  const status = async (): Promise<MigrationStatus> => {
    const rows = await listApplied(reads);
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
    await applyMigrations(servers);
    await status(); // a newer program may have been first
    return pending;
  };
  return {
    status,
    async drift() {
      const { findSchemaDrift } = await import('./schema-drift.ts');
      return findSchemaDrift(servers);
    },
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

async function listApplied(reads: QuerySender) {
  try {
    return await reads.run(LIST_APPLIED, []);
  } catch (error) {
    if (error instanceof StorageUnavailableError && isMissingTable(error.cause)) return [];
    throw toUnreadableMigrationsError(error);
  }
}

const isMissingTable = (cause: unknown): boolean => cause instanceof Error && 'code' in cause && cause.code === '42P01';
