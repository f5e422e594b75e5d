/** A fault of the machine or its settings. The message is one line for the person who started the program. */
export class RuntimeError extends Error {
  override readonly name = 'RuntimeError';
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  ENOENT: 'no such file or folder',
  ENOSPC: 'no space left on the disk',
  ENOTDIR: 'a part of the path is a file',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
};

/**
 * Says in words why a file or folder cannot be used.
 *
 * @param reasons texts for codes that mean something more precise to the caller
 */
export function describeFileError(error: unknown, reasons: Readonly<Record<string, string>> = {}): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  return reasons[code] ?? REASONS[code] ?? error.message;
}
