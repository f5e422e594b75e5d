// Apart from the migrations themselves, because to see that a database is up to date takes only their names and must
// not cost the loading of the ORM.

/** Every migration, in order. Names are kept for ever; there is no way back. */
export const MIGRATION_NAMES = ['0001-initial-schema'] as const;

export type MigrationName = (typeof MIGRATION_NAMES)[number];

/** MikroORM's table of the migrations that were applied. */
export const MIGRATIONS_TABLE = 'schema_migrations';
