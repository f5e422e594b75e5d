/** A command that could not be carried out. The message is one line, shown to the user without a stack. Exit code 1. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** A command that was called wrongly. Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A command that failed and has said so by its report, such as that of an import. Exit code 1. */
export class ReportedError extends Error {
  override readonly name = 'ReportedError';
}
