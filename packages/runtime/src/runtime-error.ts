/** A fault of the machine or its settings. The message is one line for the person who started the program. */
export class RuntimeError extends Error {
  override readonly name = 'RuntimeError';
}
