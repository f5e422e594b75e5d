import { type Migrations, NewerDatabaseError } from '@petstore/persistence';
import type { Logger } from 'pino';

export interface SchemaPreparation {
  readonly migrations: Pick<Migrations, 'migrate' | 'assertMigrated'>;
  readonly mayMigrate: boolean;
  readonly logger: Logger;
}

/**
 * Makes what prepares the schema whenever PostgreSQL is there (again). A newer release that replaces servers one by one
 * may have migrated meanwhile: a server that has run until then goes on, whatever the migration says of new ones.
 */
export function schemaPreparer({ migrations, mayMigrate, logger }: SchemaPreparation): () => Promise<void> {
  let wasPrepared = false;
  return async () => {
    try {
      if (mayMigrate) {
        const applied = await migrations.migrate();
        if (applied.length > 0) logger.info({ applied }, 'the database was migrated');
      } else {
        await migrations.assertMigrated();
      }
    } catch (error) {
      if (!(wasPrepared && error instanceof NewerDatabaseError)) throw error;
      const { unknownMigrations } = error;
      logger.warn(
        { unknownMigrations },
        'the database was migrated by a newer version; this server goes on until it ends',
      );
    }
    wasPrepared = true;
  };
}
