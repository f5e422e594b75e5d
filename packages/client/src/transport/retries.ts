import { ConnectionError, PetstoreError } from '../errors.ts';

/** When, and how often, a failed call is retried. */
export interface RetryPolicy {
  readonly maxRetries: number;
  /** A call for which the service asks for a longer wait fails. */
  readonly maxRetryAfterSeconds: number;
}

/** Of what never ends by itself, and waits for as long as the service asks. */
export const FOR_EVER: RetryPolicy = {
  maxRetries: Number.POSITIVE_INFINITY,
  maxRetryAfterSeconds: Number.POSITIVE_INFINITY,
};

interface RetryOptions extends RetryPolicy {
  /** Returns numbers from 0 up to, but not including, 1. */
  readonly random: () => number;
  /** Waits before the next attempt. @throws what ends the call */
  readonly wait: (delayMs: number, error: unknown) => Promise<void>;
  /** The failure that an error stands for; `undefined`: another attempt would not help. @default if it is a PetstoreError */
  readonly failureOf?: ((error: unknown) => PetstoreError | undefined) | undefined;
}

const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 8_000;

/** Statuses that another attempt may change. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/**
 * Makes a call until it succeeds, or fails for good.
 *
 * @param attempt makes the call once. `isAfterLoss`: an earlier attempt may have been carried out, its response being lost
 * @throws what the last attempt throws, or the wait after it
 */
export async function withRetries<Value>(
  { random, wait, failureOf = asPetstoreError, ...policy }: RetryOptions,
  attempt: (isAfterLoss: boolean) => Promise<Value>,
): Promise<Value> {
  let isAfterLoss = false;
  for (let attemptsMade = 1; ; attemptsMade++) {
    try {
      return await attempt(isAfterLoss);
    } catch (error) {
      const failure = failureOf(error);
      const delayMs = failure && retryDelayMs(failure, attemptsMade, policy, random());
      if (failure === undefined || delayMs === undefined) throw error;
      isAfterLoss ||= mayHaveRun(failure);
      await wait(delayMs, error);
    }
  }
}

const asPetstoreError = (error: unknown) => (error instanceof PetstoreError ? error : undefined);

/**
 * How long to wait before the next attempt: at least the time that the service asks for, and at least an exponential
 * backoff of 0.5 s doubling to 8 s. Each wait is a random part of it, from half to all: clients do not return in step.
 *
 * @param attemptsMade 1 after the first attempt
 * @param random from 0 up to, but not including, 1
 * @returns milliseconds; `undefined` if another attempt would not help
 */
export function retryDelayMs(
  failure: PetstoreError,
  attemptsMade: number,
  { maxRetries, maxRetryAfterSeconds }: RetryPolicy,
  random: number,
): number | undefined {
  const { status, retryAfterSeconds = 0 } = failure;
  const isRetryable = status === undefined ? failure instanceof ConnectionError : RETRYABLE_STATUSES.has(status);
  if (attemptsMade > maxRetries || !isRetryable || retryAfterSeconds > maxRetryAfterSeconds) return undefined;
  const backoffMs = Math.min(BACKOFF_FIRST_MS * 2 ** (attemptsMade - 1), BACKOFF_MAX_MS) * (0.5 + random / 2);
  return Math.max(backoffMs, retryAfterSeconds * 1_000);
}

/**
 * Whether the service may have carried out a request that failed. It has not if it refused the request on arrival (429,
 * `overloaded`) or did not receive all of it (408).
 */
const mayHaveRun = ({ status, code }: PetstoreError): boolean =>
  status !== 408 && status !== 429 && code !== 'overloaded';
