/** What a command could not do. The message is one line for the person who asked; a stack is no help. Exit code 1. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}

/** What was asked for wrongly. Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
