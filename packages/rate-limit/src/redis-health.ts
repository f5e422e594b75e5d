/** Redis became unavailable, or came back. */
export interface LimiterStateChange {
  /** Where requests are counted from now on. */
  readonly countedIn: 'redis' | 'process';
  /** The message of Redis or the connection, for a log: one short line without a secret. */
  readonly reason: string;
}

const FAILURES_MIN = 5;
const SILENCE_MIN_MS = 300;

/**
 * Whether Redis responds, as its calls show. It is unavailable before the first response, and after five consecutive failures,
 * the last of them a probe, with no success for 300 ms: in a cluster, other masters respond while one is unavailable.
 */
export class RedisHealth {
  #isUnavailable = true;
  #failures = 0;
  #lastSuccessMs = 0;
  #lastError: Error | undefined;

  get isUnavailable(): boolean {
    return this.#isUnavailable;
  }

  /** Whether so many calls have failed that a probe should tell. */
  get isSuspect(): boolean {
    return !this.#isUnavailable && this.#failures >= FAILURES_MIN - 1;
  }

  /** The error of the last call that failed. */
  get lastError(): Error | undefined {
    return this.#lastError;
  }

  /** How long ago a call has succeeded, in milliseconds. */
  get silenceMs(): number {
    return performance.now() - this.#lastSuccessMs;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#lastSuccessMs = performance.now();
    this.#isUnavailable = false;
  }

  failed(error: Error): void {
    this.#failures += 1;
    this.#lastError = error;
  }

  /** A probe has failed: in a cluster, at several masters. */
  probeFailed(): void {
    if (this.#failures >= FAILURES_MIN && this.silenceMs >= SILENCE_MIN_MS) this.#isUnavailable = true;
  }
}
