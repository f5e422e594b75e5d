import { Migration } from '@mikro-orm/migrations';
import type { MigrationName } from './migration-names.ts';

/** One step of the schema. Each takes effect by itself, so it must leave alone what runs meanwhile. */
export abstract class SchemaChange extends Migration {
  /**
   * The oldest release that works on the changed schema, by the last migration that it knows. Kept in the database: a
   * release that lacks this migration reads there whether it may run.
   */
  abstract readonly oldestRelease: MigrationName;
}

/**
 * A change that stops no writer and takes as long as it has to, such as `create index concurrently`, which PostgreSQL
 * refuses in a transaction. It may have failed half-way before, so it begins with removing what is left of that.
 */
export abstract class ConcurrentSchemaChange extends SchemaChange {
  override isTransactional(): boolean {
    return false;
  }
}
