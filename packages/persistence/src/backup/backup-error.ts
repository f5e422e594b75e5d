import pg from 'pg';
import { toStorageError } from '../storage-error.ts';

/** A backup that cannot be made, or not be restored. The message is one line for the person who operates the service. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * What a backup or a restore fails with, of what was thrown on the way.
 *
 * @param role of docs/operations.md, which may
 */
export function toBackupError(error: unknown, role: 'petstore_backup' | 'petstore_owner'): Error {
  const isForbidden = error instanceof pg.DatabaseError && error.code === INSUFFICIENT_PRIVILEGE;
  return isForbidden
    ? new BackupError(`${error.message}; it takes a role like ${role} (docs/operations.md, "Roles")`, { cause: error })
    : toStorageError(error);
}
