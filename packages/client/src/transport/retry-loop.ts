import { ConnectionError, PetstoreError, type PetstoreErrorCode } from '../errors.ts';
import { type ClientClock, untilAborted } from './clock.ts';

export interface RetryPolicy {
  /** Attempts after the first. */
  readonly maxRetries: number;
  /** A longer `Retry-After` is not waited for. */
  readonly maxRetryAfterSeconds: number;
  /** From 0 up to, but not including, 1; `Math.random` in production. */
  readonly random: () => number;
}

/** Why an attempt failed. */
export interface AttemptFailure {
  readonly error: PetstoreError;
  /** The same object for all calls that failed together: they are sent again together. */
  readonly sharedBy: object;
}

export interface RetriedCall<Result> {
  /** Sends the call once. Has to end when the signal aborts. */
  attempt(): Promise<Result>;
  readonly signal: AbortSignal | undefined;
  /** @default that of the policy */
  readonly maxRetries?: number | undefined;
  /**
   * The error code that says, after an attempt that may have been executed, that it was; and how the result is found that
   * the call then has: a lost response means success.
   */
  readonly done?: { readonly code: PetstoreErrorCode; readonly readResult: () => Result | Promise<Result> } | undefined;
  /**
   * @returns `undefined` for errors after which the call is not tried again
   * @default a {@link PetstoreError} is a failure of its own, all other errors are none
   */
  readonly readFailure?: (error: unknown) => AttemptFailure | undefined;
}

interface Pause {
  readonly ended: Promise<void>;
  readonly cancel: () => void;
  waiting: number;
}

const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 8_000;

/** Statuses that another attempt may change. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/** Attempts calls until they succeed or fail for good, over REST and tRPC alike. */
export class RetryLoop {
  readonly #policy: RetryPolicy;
  readonly #clock: ClientClock;
  readonly #pauses = new WeakMap<object, Pause>();

  constructor(policy: RetryPolicy, clock: ClientClock) {
    this.#policy = policy;
    this.#clock = clock;
  }

  /** @throws the error of the last attempt; the signal's reason when it aborts */
  async run<Result>(call: RetriedCall<Result>): Promise<Result> {
    const { signal, done, readFailure = readPetstoreError } = call;
    const policy = { ...this.#policy, maxRetries: call.maxRetries ?? this.#policy.maxRetries };
    let mayBeDone = false;
    for (let attemptsMade = 1; ; attemptsMade++) {
      try {
        return await call.attempt();
      } catch (error) {
        const failure = readFailure(error);
        if (failure === undefined) throw error;
        if (mayBeDone && done?.code === failure.error.code) return await done.readResult();
        mayBeDone ||= mayHaveRun(failure.error);
        const delayMs = retryDelayMs(failure.error, attemptsMade, policy);
        if (delayMs === undefined) throw error;
        await this.#pause(failure.sharedBy, delayMs, signal);
      }
    }
  }

  /**
   * Waits before another attempt of what is to go on for ever.
   *
   * @param failure `undefined` where it ended without one
   * @param failures how many attempts have failed in a row
   * @returns false where another attempt would not help
   * @throws the signal's reason when it aborts
   */
  async backOff(failure: unknown, failures: number, signal: AbortSignal | undefined): Promise<boolean> {
    signal?.throwIfAborted();
    const error = failure ?? new ConnectionError('The response ended.', { code: 'connection_failed' });
    if (!(error instanceof PetstoreError)) return false;
    const policy = {
      ...this.#policy,
      maxRetries: Number.POSITIVE_INFINITY,
      maxRetryAfterSeconds: Number.POSITIVE_INFINITY,
    };
    const delayMs = retryDelayMs(error, failures, policy);
    if (delayMs !== undefined) await this.#pause(error, delayMs, signal);
    return delayMs !== undefined;
  }

  /**
   * Calls that failed together wait together, for as long as the first of them has to, and resume in the same tick, so that
   * tRPC sends them as one request again: as many refusals as calls would look like clients that ignore `Retry-After`.
   */
  async #pause(sharedBy: object, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    const pause = this.#pauses.get(sharedBy) ?? this.#startPause(sharedBy, delayMs);
    pause.waiting++;
    try {
      await untilAborted(signal, pause.ended);
    } finally {
      if (--pause.waiting === 0) {
        pause.cancel();
        this.#pauses.delete(sharedBy);
      }
    }
  }

  #startPause(sharedBy: object, delayMs: number): Pause {
    let cancel = () => {};
    const ended = new Promise<void>((resolve) => {
      cancel = this.#clock.schedule(resolve, delayMs);
    });
    const pause = { ended, cancel, waiting: 0 };
    this.#pauses.set(sharedBy, pause);
    return pause;
  }
}

const readPetstoreError = (error: unknown): AttemptFailure | undefined =>
  error instanceof PetstoreError ? { error, sharedBy: error } : undefined;

/**
 * How long to wait before the next attempt: as long as the service asks for, and at least an exponential backoff of 0.5 s
 * doubling to 8 s, of which each wait takes a random part from half to all, so that clients do not return in step.
 *
 * @param attemptsMade 1 after the first
 * @returns milliseconds; `undefined` to give up
 * @internal exported for its tests
 */
export function retryDelayMs(error: PetstoreError, attemptsMade: number, policy: RetryPolicy): number | undefined {
  const { status, retryAfterSeconds = 0 } = error;
  const isRetryable = status === undefined ? error instanceof ConnectionError : RETRYABLE_STATUSES.has(status);
  if (attemptsMade > policy.maxRetries || !isRetryable) return undefined;
  if (retryAfterSeconds > policy.maxRetryAfterSeconds) return undefined;
  const backoffMs = Math.min(BACKOFF_FIRST_MS * 2 ** (attemptsMade - 1), BACKOFF_MAX_MS) * (0.5 + policy.random() / 2);
  return Math.max(backoffMs, retryAfterSeconds * 1_000);
}

/**
 * Whether the service may have executed a call that failed. It has not where it refused the request on arrival (429,
 * `overloaded`) or did not receive all of it (408).
 */
const mayHaveRun = ({ status, code }: PetstoreError): boolean =>
  status !== 408 && status !== 429 && code !== 'overloaded';
