// Separate from the migrations: checking that a database is up to date only needs their names, and must not load the ORM.

/** Every migration, in order. Names never change, and no migration can be undone. */
export const MIGRATION_NAMES = ['0001-initial-schema'] as const;

export type MigrationName = (typeof MIGRATION_NAMES)[number];

/** MikroORM's table of applied migrations. */
export const MIGRATIONS_TABLE = 'schema_migrations';
