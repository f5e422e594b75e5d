import { StorageUnavailableError } from '@petstore/domain';
import { MIGRATION_NAMES, MIGRATIONS_TABLE } from './schema/migration-names.ts';
import type { PipelinedConnections } from './statements/pipelined-connections.ts';
import { prepareStatement, runStatement } from './statements/prepared-statement.ts';

/** Which of this program's migrations a database has seen, in order. */
export interface MigrationStatus {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
}

export interface Migrations {
  /**
   * One query.
   *
   * @throws NewerDatabaseError
   * @throws StorageUnavailableError
   */
  status(): Promise<MigrationStatus>;
  /**
   * Brings an empty or older database up to date. Safe when several processes do so at once. Costs one query where there
   * is nothing to do.
   *
   * @returns the names of the migrations that were pending
   * @throws NewerDatabaseError
   * @throws StorageUnavailableError
   */
  migrate(): Promise<readonly string[]>;
}

/** The database holds migrations that this program does not know: a newer one has been here. */
export class NewerDatabaseError extends Error {
  override readonly name = 'NewerDatabaseError';
  readonly unknownMigrations: readonly string[];

  constructor(unknownMigrations: readonly string[]) {
    super(
      `the database was migrated by a newer version of this program (${unknownMigrations.join(', ')}); run that version`,
    );
    this.unknownMigrations = unknownMigrations;
  }
}

const LIST_APPLIED = prepareStatement<readonly [name: string]>(
  'list-migrations',
  `select name from ${MIGRATIONS_TABLE} order by id`,
);

export function createMigrations(databaseUrl: string, reads: PipelinedConnections): Migrations {
  const status = async (): Promise<MigrationStatus> => {
    const applied = await listApplied(reads);
    const known: ReadonlySet<string> = new Set(MIGRATION_NAMES);
    const unknown = applied.filter((name) => !known.has(name));
    if (unknown.length > 0) throw new NewerDatabaseError(unknown);
    return { applied, pending: MIGRATION_NAMES.filter((name) => !applied.includes(name)) };
  };
  return {
    status,
    async migrate() {
      const { pending } = await status();
      if (pending.length === 0) return pending;
      const { runMigrations } = await import('./schema/run-migrations.ts');
      await runMigrations(databaseUrl);
      await status(); // a newer program may have been first
      return pending;
    },
  };
}

async function listApplied(reads: PipelinedConnections): Promise<readonly string[]> {
  try {
    const rows = await runStatement(reads, LIST_APPLIED, []);
    return rows.map(([name]) => name);
  } catch (error) {
    if (error instanceof StorageUnavailableError && isMissingTable(error.cause)) return [];
    throw error;
  }
}

const isMissingTable = (cause: unknown): boolean => cause instanceof Error && 'code' in cause && cause.code === '42P01';
