import type { RateLimitDecision } from '../port.ts';

interface RedisUnavailableErrorOptions extends ErrorOptions, Pick<RedisUnavailableError, 'mayHaveRun'> {
  readonly lateDecision?: RedisUnavailableError['lateDecision'];
}

/** What is known of a call that got no reply: it has not run, or it is never known whether it has. */
export type WithoutReply = 'not run' | 'unknown';

/** Redis did not respond in time, or with an error, or with an invalid reply. */
export class RedisUnavailableError extends Error {
  override readonly name = 'RedisUnavailableError';
  /** Whether the call may have taken effect all the same. */
  readonly mayHaveRun: boolean;
  /**
   * Of a call that timed out: its decision, once there is a reply, or what is known once there will be none. Stays pending
   * for as long as the connection is silent; never rejects.
   */
  readonly lateDecision: Promise<RateLimitDecision | WithoutReply> | undefined;

  constructor(message: string, { cause, mayHaveRun, lateDecision }: RedisUnavailableErrorOptions) {
    super(message, { cause });
    this.mayHaveRun = mayHaveRun;
    this.lateDecision = lateDecision;
  }
}

/** The server that replied need not be the expected Redis. Its scripts may have run all the same. */
export const invalidReply = (reason: string): RedisUnavailableError =>
  new RedisUnavailableError(`Redis sent an invalid reply: ${reason}`, { mayHaveRun: true });

/** What Redis refuses has not run, nor has what was never sent for want of a connection. */
export function toUnavailableError(cause: unknown): RedisUnavailableError {
  if (cause instanceof RedisUnavailableError) return cause;
  if (!(cause instanceof Error)) return new RedisUnavailableError('Redis failed', { mayHaveRun: true, cause });
  const mayHaveRun = cause.name !== 'ReplyError' && !cause.message.includes('enableOfflineQueue');
  return new RedisUnavailableError(`Redis failed: ${cause.message}`, { mayHaveRun, cause });
}
