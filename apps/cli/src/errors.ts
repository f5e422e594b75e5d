/** A command that could not be carried out. The message is one line, shown to the user without a stack. Exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** A command that was called wrongly. Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const FILE_ERRORS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EEXIST: 'its unfinished file is there already',
  EISDIR: 'it is a folder',
  ENOENT: 'there is no such file or folder',
  ENOSPC: 'no space is left on the disk',
  ENOTDIR: 'a part of the path is a file',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
};

/** Says in words why a file cannot be used. */
export function describeFileError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? (FILE_ERRORS[String(error.code)] ?? error.message) : error.message;
}
