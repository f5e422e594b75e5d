const FAILURES_MIN = 5;
const SILENCE_MIN_MS = 300;
/** Redis is probed this often unless a call has succeeded meanwhile. */
const PROBE_INTERVAL_MS = 1_000;

export interface CircuitBreakerOptions {
  /** Sends a call that tells whether Redis responds, in a cluster to several masters. Rejects if none does. */
  readonly probe: () => Promise<unknown>;
  /** Called when it opens, and when it closes. */
  readonly onChange: () => void;
}

/**
 * Whether calls are sent to Redis. It is open, so that none is, before the first success, and after five consecutive failures
 * of which the last was a probe, with no success for 300 ms: in a cluster, other masters respond while one is unavailable.
 * Any success closes it, such as that of a probe, sent once a second.
 */
export class CircuitBreaker implements Disposable {
  readonly #options: CircuitBreakerOptions;
  readonly #timer: NodeJS.Timeout;
  #isOpen = true;
  #isProbing = false;
  #failures = 0;
  #lastSuccessMs = 0;
  #lastError: Error | undefined;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      if (this.#silenceMs >= PROBE_INTERVAL_MS) void this.probe();
    }, PROBE_INTERVAL_MS).unref();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The error of the last call that failed. */
  get lastError(): Error | undefined {
    return this.#lastError;
  }

  /** Called after each call that succeeded. */
  succeeded(): void {
    this.#failures = 0;
    this.#lastSuccessMs = performance.now();
    this.#turn(false);
  }

  /** Called after each call that failed. */
  failed(error: Error): void {
    this.#failures += 1;
    this.#lastError = error;
    if (!this.#isOpen && this.#failures >= FAILURES_MIN - 1) void this.probe();
  }

  /** Probes, unless a probe is under way. Never rejects. */
  readonly probe = async (): Promise<void> => {
    if (this.#isProbing) return;
    this.#isProbing = true;
    try {
      await this.#options.probe();
    } catch {
      if (this.#failures >= FAILURES_MIN && this.#silenceMs >= SILENCE_MIN_MS) this.#turn(true);
    }
    this.#isProbing = false;
  };

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  get #silenceMs(): number {
    return performance.now() - this.#lastSuccessMs;
  }

  #turn(isOpen: boolean): void {
    if (isOpen === this.#isOpen) return;
    this.#isOpen = isOpen;
    this.#options.onChange();
  }
}
