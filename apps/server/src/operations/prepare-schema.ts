import { type Migrations, NewerDatabaseError } from '@petstore/persistence';
import type { Logger } from 'pino';

export interface SchemaPreparation {
  readonly migrations: Pick<Migrations, 'migrate' | 'assertMigrated'>;
  readonly mayMigrate: boolean;
  readonly logger: Logger;
}

/**
 * Makes a function that prepares the schema whenever PostgreSQL becomes available. In a rolling update, a newer release may
 * migrate the schema meanwhile. A server that already runs then continues, even if it could not start on that schema.
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
        'the database was migrated by a newer version; this server keeps running until it is stopped',
      );
    }
    wasPrepared = true;
  };
}
