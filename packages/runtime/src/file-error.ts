const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EEXIST: 'a file is in its place',
  EISDIR: 'it is a folder',
  ENOENT: 'there is no such file or folder',
  ENOSPC: 'no space is left on the disk',
  ENOTDIR: 'a part of the path is a file',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
};

/**
 * Why a file or folder cannot be used, for a person to read.
 *
 * @param reasons by error code, where the usual one does not fit
 */
export function describeFileError(error: unknown, reasons: Readonly<Record<string, string>> = {}): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  return reasons[code] ?? REASONS[code] ?? error.message;
}
