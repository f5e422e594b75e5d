import type { DatabaseServers } from '../connections/database-servers.ts';
import type { Migrations } from '../schema/create-migrations.ts';
import type { BackupHeader } from './backup-header.ts';
import type { RestoreOptions } from './restore-tables.ts';
import type { OpenBackup, SaveOptions } from './save-tables.ts';

/** All that is kept, as one text, and back. */
export interface BackupStore {
  /**
   * Begins a backup of all that is there at one moment.
   *
   * @throws BackupError, StorageUnavailableError
   */
  save(options: SaveOptions): Promise<OpenBackup>;
  /**
   * Restores a backup, whole or not at all, into a database without rows, which is migrated first.
   *
   * @throws BackupError, SchemaError, StorageUnavailableError, and what the text throws
   */
  restore(text: AsyncIterable<Uint8Array>, options: RestoreOptions): Promise<BackupHeader>;
}

/** What a command loads only when it is this one. */
export const createBackupStore = (servers: DatabaseServers, migrations: Migrations): BackupStore => ({
  save: async (options) => (await import('./save-tables.ts')).saveTables(servers, options),
  restore: async (text, options) =>
    (await import('./restore-tables.ts')).restoreTables(servers, migrations, text, options),
});
