const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EEXIST: 'its unfinished file is there already',
  EISDIR: 'it is a folder',
  ENOENT: 'there is no such file or folder',
  ENOSPC: 'no space is left on the disk',
  ENOTDIR: 'a part of the path is a file',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
};

/** Why a file cannot be used, for a person to read. */
export function describeFileError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? (REASONS[String(error.code)] ?? error.message) : error.message;
}
