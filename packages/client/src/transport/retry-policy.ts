import { ConnectionError, PetstoreError } from '../errors.ts';
import { type ClientClock, sleep } from './clock.ts';

export interface RetryPolicy {
  /** Attempts after the first. */
  readonly maxRetries: number;
  /** A longer `Retry-After` is not waited for. */
  readonly maxRetryAfterSeconds: number;
  /** From 0 up to, but not including, 1; `Math.random` in production. */
  readonly random: () => number;
}

const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 8_000;

/** Answers that another attempt may change. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/**
 * How long to wait before the next attempt: as long as the service asks for, and at least an exponential backoff of
 * 0.5 s doubling to 8 s, of which each wait takes a random part from half to all, so that clients do not return in step.
 *
 * @param attemptsMade 1 after the first
 * @returns milliseconds; `undefined` to give up
 */
export function retryDelayMs(error: PetstoreError, attemptsMade: number, policy: RetryPolicy): number | undefined {
  const { retryAfterSeconds = 0 } = error;
  if (attemptsMade > policy.maxRetries || !isRetryable(error)) return undefined;
  if (retryAfterSeconds > policy.maxRetryAfterSeconds) return undefined;
  const backoffMs = Math.min(BACKOFF_FIRST_MS * 2 ** (attemptsMade - 1), BACKOFF_MAX_MS) * (0.5 + policy.random() / 2);
  return Math.max(backoffMs, retryAfterSeconds * 1_000);
}

const isRetryable = (error: PetstoreError): boolean =>
  error.status === undefined ? error instanceof ConnectionError : RETRYABLE_STATUSES.has(error.status);

/**
 * Whether the service may have done what it was asked for, although it did not say so. It has not where it refused the
 * request at its door (429, `overloaded`) or did not receive all of it (408).
 */
export const mayHaveRun = ({ status, code }: PetstoreError): boolean =>
  status !== 408 && status !== 429 && code !== 'overloaded';

export interface RetryOptions {
  readonly policy: RetryPolicy;
  readonly clock: ClientClock;
  readonly signal: AbortSignal | undefined;
}

/** Attempts until it succeeds, or fails for good. What is no {@link PetstoreError} is not tried again. */
export async function attemptWithRetries<Result>(
  attempt: () => Promise<Result>,
  { policy, clock, signal }: RetryOptions,
): Promise<Result> {
  for (let attemptsMade = 1; ; attemptsMade++) {
    try {
      return await attempt();
    } catch (error) {
      const delayMs = error instanceof PetstoreError ? retryDelayMs(error, attemptsMade, policy) : undefined;
      if (delayMs === undefined) throw error;
      await sleep(clock, delayMs, signal);
    }
  }
}
