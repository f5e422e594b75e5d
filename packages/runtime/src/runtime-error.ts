/** Something on the machine is not as it must be. The message is for the person who started us; a stack is no help. */
export class RuntimeError extends Error {
  override readonly name = 'RuntimeError';
}
