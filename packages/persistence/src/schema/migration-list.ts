import type { Constructor } from '@mikro-orm/core';
import type { Migration } from '@mikro-orm/migrations';

// The migrations are loaded when they are applied: checking that a database is up to date only needs their names, and must
// not load the ORM.

/**
 * A migration. It takes effect while servers of the previous release still run, so it must not change what they use.
 *
 * A migration that PostgreSQL refuses in a transaction, such as `create index concurrently`, overrides `isTransactional`.
 * Since it may have failed half-way before, it begins by removing the remains.
 */
export interface MigrationEntry<Name extends string = string> {
  readonly load: () => Promise<Constructor<Migration & Pick<Migration, 'up'>>>; // its `up` is not abstract any more
  /**
   * The last migration of the oldest release that works on the migrated schema, and on the values that it lets in. The
   * database stores it for releases that do not know this migration.
   */
  readonly oldestCompatibleMigration: Name;
}

/** Checks that migrations name each other. */
const inOrder = <Name extends string>(migrations: Readonly<Record<Name, MigrationEntry<NoInfer<Name>>>>) => migrations;

/** Every migration, in order. Names never change, and no migration can be undone. */
export const MIGRATIONS = inOrder({
  '0001-initial-schema': {
    load: async () => (await import('./migrations/0001-initial-schema.ts')).InitialSchema,
    oldestCompatibleMigration: '0001-initial-schema',
  },
});

export const MIGRATION_NAMES: readonly string[] = Object.keys(MIGRATIONS);

/** MikroORM's table of applied migrations. */
export const MIGRATIONS_TABLE = 'schema_migrations';
