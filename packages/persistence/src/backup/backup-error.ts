import pg from 'pg';
import { toStorageError } from '../storage-error.ts';

/** A backup that cannot be made, or not be restored. The message is one line for the person who operates the service. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

const INSUFFICIENT_PRIVILEGE = '42501';

/** What a backup or a restore fails with, of what was thrown on the way. */
export function toBackupError(error: unknown): Error {
  const isForbidden = error instanceof pg.DatabaseError && error.code === INSUFFICIENT_PRIVILEGE;
  return isForbidden
    ? new BackupError(`${error.message}; another role is needed`, { cause: error })
    : toStorageError(error);
}
