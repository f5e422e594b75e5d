/** A backup that cannot be made, or not be restored. The message is one line for the person who operates the service. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}
