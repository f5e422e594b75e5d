import { type Migrations, NewerDatabaseError, type Sequences } from '@petstore/persistence';
import type { Logger } from 'pino';

export interface SchemaPreparation {
  readonly migrations: Pick<Migrations, 'migrate' | 'assertMigrated'>;
  readonly sequences: Pick<Sequences, 'align'>;
  readonly mayMigrate: boolean;
  readonly logger: Logger;
}

/**
 * Makes a function that prepares the schema and the sequences whenever PostgreSQL becomes available. In a rolling update,
 * a newer release may migrate the schema meanwhile. A server that already runs then continues, even if it could not start
 * on that schema.
 */
export function schemaPreparer({ migrations, sequences, mayMigrate, logger }: SchemaPreparation): () => Promise<void> {
  let wasPrepared = false;
  return async () => {
    try {
      if (mayMigrate) {
        const applied = await migrations.migrate((holder) =>
          logger.info({ holder }, 'waiting for another process that migrates the database'),
        );
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
    const behind = await sequences.align();
    if (behind.size > 0) {
      logger.warn(
        { sequences: Object.fromEntries(behind) },
        'sequences are behind their tables, so changes fail: run "petstore migrate" as the owner of the tables',
      );
    }
    wasPrepared = true;
  };
}
