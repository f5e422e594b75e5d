/** Redis went away, or came back. */
export interface LimiterStateChange {
  /** Where requests are counted from now on. */
  readonly countedIn: 'redis' | 'process';
  /** The message of Redis or the connection, for a log: one short line without a secret. */
  readonly reason: string;
}

export interface RedisHealthOptions {
  /**
   * Calls Redis (in a cluster, several masters), and reports each result to {@link RedisHealth.succeeded} or `failed`.
   * Rejects if none has responded.
   */
  readonly probe: () => Promise<unknown>;
  /** Why Redis is away. */
  readonly describe: (error: Error | undefined) => string;
  /** Called once per change. */
  readonly onChange: (change: LimiterStateChange) => void;
}

/** Redis counts as away after this many failed calls in a row, the last of them a probe ... */
const FAILURES_MIN = 5;
/** ... if no call has succeeded for this long: in a cluster, other masters respond while one is away. */
const SILENCE_MIN_MS = 300;
const PROBE_INTERVAL_MS = 1_000;
/** How long a start waits for Redis before Redis counts as away. */
const START_MS = 1_000;
/** The time is counted in steps of this length: time during which this process did not run is not held against Redis. */
const START_STEP_MS = 10;

/** Whether Redis responds. It is probed once a second unless a call has succeeded within the last second. */
export class RedisHealth {
  /** Resolves with the first response, or after a second without one. */
  readonly started: Promise<void>;
  readonly #options: RedisHealthOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #start = Promise.withResolvers<void>();
  #isStarting = true;
  #isAway = true;
  #failures = 0;
  #lastSuccessMs = 0;
  #isProbing = false;
  #lastError: Error | undefined;

  constructor(options: RedisHealthOptions) {
    this.#options = options;
    this.started = this.#start.promise;
    let steps = 0;
    const startTimer = setInterval(() => {
      steps += 1;
      if (steps * START_STEP_MS >= START_MS) this.#endStart();
    }, START_STEP_MS).unref();
    void this.started.then(() => clearInterval(startTimer));
    this.#timer = setInterval(() => {
      if (performance.now() - this.#lastSuccessMs >= PROBE_INTERVAL_MS) this.probe();
    }, PROBE_INTERVAL_MS).unref();
  }

  /** Also true before the first response. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** `undefined` if Redis is not away. */
  get awayReason(): string | undefined {
    return this.#isAway ? this.#options.describe(this.#lastError) : undefined;
  }

  /** Checks whether Redis responds. */
  probe(): void {
    if (this.#isProbing) return;
    this.#isProbing = true;
    this.#options
      .probe()
      .catch(() => {
        if (this.#isSilent) this.#set(true);
      })
      .finally(() => {
        this.#isProbing = false;
      });
  }

  succeeded(): void {
    this.#failures = 0;
    this.#lastSuccessMs = performance.now();
    this.#set(false);
  }

  failed(error: Error): void {
    this.#failures += 1;
    this.#lastError = error;
    if (this.#failures >= FAILURES_MIN - 1 && !this.#isAway) this.probe();
  }

  /** Ends the timers. */
  close(): void {
    clearInterval(this.#timer);
    this.#start.resolve();
  }

  get #isSilent(): boolean {
    return this.#failures >= FAILURES_MIN && performance.now() - this.#lastSuccessMs >= SILENCE_MIN_MS;
  }

  #set(isAway: boolean): void {
    const hasChanged = this.#isAway !== isAway;
    this.#isAway = isAway;
    if (this.#isStarting) {
      if (!isAway) this.#endStart();
    } else if (hasChanged) {
      this.#report();
    }
  }

  #endStart(): void {
    if (!this.#isStarting) return;
    this.#isStarting = false;
    this.#start.resolve();
    if (this.#isAway) this.#report();
  }

  #report(): void {
    const { awayReason } = this;
    this.#options.onChange(
      awayReason === undefined
        ? { countedIn: 'redis', reason: 'Redis responds' }
        : { countedIn: 'process', reason: awayReason },
    );
  }
}
