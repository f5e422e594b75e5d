/** Redis did not answer in time, or with an error, or with what is no answer. */
export class RedisUnavailableError extends Error {
  override readonly name = 'RedisUnavailableError';
  /** Whether the call may have taken effect all the same. */
  readonly mayHaveRun: boolean;

  constructor(message: string, mayHaveRun: boolean, cause?: unknown) {
    super(message, { cause });
    this.mayHaveRun = mayHaveRun;
  }
}
