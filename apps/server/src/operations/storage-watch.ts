import { StorageUnavailableError } from '@petstore/domain';

export interface StorageWatchOptions {
  /** Whether PostgreSQL answers; rejects with a StorageUnavailableError where not. */
  ping(): Promise<void>;
  /**
   * Called whenever PostgreSQL has come (back), before it counts as available: sees to its schema. Any rejection but a
   * StorageUnavailableError ends the watch.
   */
  prepare(): Promise<void>;
  /** Told of each change, the first one included. */
  onChange(isAvailable: boolean, reason?: Error): void;
  /** Told of what no waiting can heal, such as a schema of a newer program. */
  onFatal(error: unknown): void;
}

/** Between two looks while it is there. */
const UP_INTERVAL_MS = 1_000;
/** Between two looks while it is away; also how late its return is noticed. */
const DOWN_INTERVAL_MS = 250;
/** No answer for so long counts as away. */
const ANSWER_TIMEOUT_MS = 2_000;
/** What was seen so recently need not be looked at again. */
const FRESH_MS = 100;

/** Knows whether PostgreSQL can be used, by looking again and again. */
export class StorageWatch {
  readonly #options: StorageWatchOptions;
  #isAvailable: boolean | undefined;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #check: Promise<boolean> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: StorageWatchOptions) {
    this.#options = options;
  }

  /** Whether it could be used when last looked. */
  get isAvailable(): boolean {
    return this.#isAvailable === true;
  }

  /** Looks for the first time, and from then on until stopped. */
  async start(): Promise<void> {
    await this.check();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Whether it can be used now. Asked by several at once it looks only once. */
  async check(): Promise<boolean> {
    if (this.#isStopped || performance.now() - this.#checkedAtMs < FRESH_MS) return this.isAvailable;
    this.#check ??= this.#look().finally(() => {
      this.#check = undefined;
      this.#checkedAtMs = performance.now();
      this.#lookAgainLater();
    });
    return this.#check;
  }

  #lookAgainLater(): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    const intervalMs = this.isAvailable ? UP_INTERVAL_MS : DOWN_INTERVAL_MS;
    this.#timer = setTimeout(() => void this.check(), intervalMs).unref();
  }

  async #look(): Promise<boolean> {
    try {
      // A migration may take its time; only an answer to nothing at all is owed soon.
      await (this.isAvailable ? withTimeout(this.#options.ping()) : this.#options.prepare());
      this.#become(true);
    } catch (error) {
      if (!this.isAvailable && !(error instanceof StorageUnavailableError)) {
        this.stop();
        this.#options.onFatal(error);
      } else {
        this.#become(false, error instanceof Error ? error : new Error(String(error)));
      }
    }
    return this.isAvailable;
  }

  #become(isAvailable: boolean, reason?: Error): void {
    if (this.#isAvailable === isAvailable || this.#isStopped) return;
    this.#isAvailable = isAvailable;
    this.#options.onChange(isAvailable, reason);
  }
}

async function withTimeout(answer: Promise<void>): Promise<void> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new StorageUnavailableError(`PostgreSQL did not answer within ${ANSWER_TIMEOUT_MS} ms`));
  }, ANSWER_TIMEOUT_MS);
  try {
    await Promise.race([answer, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
