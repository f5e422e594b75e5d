import type { Constructor } from '@mikro-orm/core';
import type { Migration } from '@mikro-orm/migrations';

// The migrations are loaded when they are applied: checking that a database is up to date only needs their names, and must
// not load the ORM.

/**
 * Loads a migration. It takes effect while servers of the previous release still run, so it must not change what they use.
 *
 * A migration that PostgreSQL refuses in a transaction, such as `create index concurrently`, overrides `isTransactional`.
 * Since it may have failed half-way before, it begins by removing the remains.
 */
type LoadMigration = () => Promise<Constructor<Migration & Pick<Migration, 'up'>>>; // its `up` is not abstract any more

/** The migrations of a release, in order. */
interface Release<Version extends string> {
  /** The oldest release that works on the migrated schema, and on the values that it lets in: usually the one before. */
  readonly oldestCompatible: Version;
  readonly migrations: Readonly<Record<string, LoadMigration>>;
}

/** Checks that releases name each other. */
const inOrder = <Version extends string>(releases: Readonly<Record<Version, Release<NoInfer<Version>>>>) => releases;

/** Each release that changes the schema, in order. Names of migrations never change, and none can be undone. */
const RELEASES = inOrder({
  '1.0.0': {
    oldestCompatible: '1.0.0',
    migrations: {
      '0001-initial-schema': async () => (await import('./migrations/0001-initial-schema.ts')).InitialSchema,
    },
  },
});

export interface MigrationEntry {
  readonly load: LoadMigration;
  /**
   * The last migration of the oldest release that works with this one. The database stores it for releases that do not know
   * this migration.
   */
  readonly oldestCompatibleMigration: string;
}

/** @throws Error if a release has no migration */
const entriesOf = <Version extends string>(releases: Readonly<Record<Version, Release<Version>>>) =>
  Object.values<Release<Version>>(releases).flatMap(({ oldestCompatible, migrations }) => {
    const oldestCompatibleMigration = Object.keys(releases[oldestCompatible].migrations).at(-1);
    if (oldestCompatibleMigration === undefined) throw new Error(`the release ${oldestCompatible} has no migration`);
    return Object.entries(migrations).map(([name, load]) => [name, { load, oldestCompatibleMigration }] as const);
  });

/** Every migration, in order. */
export const MIGRATIONS: Readonly<Record<string, MigrationEntry>> = Object.fromEntries(entriesOf(RELEASES));

export const MIGRATION_NAMES: readonly string[] = Object.keys(MIGRATIONS);

/** MikroORM's table of applied migrations. */
export const MIGRATIONS_TABLE = 'schema_migrations';
