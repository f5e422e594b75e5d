import { describeDenial } from '../role-error.ts';
import { toStorageError } from '../storage-error.ts';

/** A backup that cannot be made, or not be restored. The message is one line for the person who operates the service. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

/**
 * What a backup or a restore fails with, of what was thrown on the way.
 *
 * @param role of docs/operations.md, which may
 */
export function toBackupError(error: unknown, role: 'petstore_backup' | 'petstore_owner'): Error {
  const denial = describeDenial(error, role);
  return denial === undefined ? toStorageError(error) : new BackupError(denial, { cause: error });
}
