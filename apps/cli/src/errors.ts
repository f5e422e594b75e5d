/** A command that could not be carried out. The message is one line, shown to the user without a stack. Exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** A command that was called wrongly. Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** An installation breaks a promise; thrown after all findings have been printed. Exit code 1. */
export class CheckFailedError extends Error {
  override readonly name = 'CheckFailedError';
}

/** An import rejected records; thrown after its report has been printed. Exit code 1. */
export class ImportRejectedError extends Error {
  override readonly name = 'ImportRejectedError';
}
