import { Migration } from '@mikro-orm/migrations';
import type { MigrationName } from './migration-names.ts';

/**
 * A migration. Each takes effect by itself, while servers of the release before go on, so it must leave alone what they
 * use.
 *
 * One that PostgreSQL refuses in a transaction, such as `create index concurrently`, overrides `isTransactional`. Such a
 * migration may have failed half-way before, so it begins by removing what is left of that.
 */
export abstract class SchemaChange extends Migration {
  /** The oldest release that works on the changed schema. A release that does not know this migration reads it there. */
  abstract readonly oldestRelease: MigrationName;
}
