import { StorageUnavailableError } from '@petstore/domain';
import type { Logger } from 'pino';

export interface StorageWatchOptions {
  /** Whether PostgreSQL responds; rejects with a StorageUnavailableError where not. */
  ping(): Promise<void>;
  /**
   * Called whenever PostgreSQL is there (again), before it counts as available: prepares its schema. Any rejection but a
   * StorageUnavailableError ends the watch.
   */
  prepare(): Promise<void>;
  /** Called at each change, the first one included. */
  onChange(isAvailable: boolean, reason?: Error): void;
  /** Called with what waiting cannot fix, such as a schema of a newer program. The watch has then ended. */
  onFatal(error: Error): void;
}

/** Between two looks while it is there. */
const UP_INTERVAL_MS = 1_000;
/** Between two looks while it is away; also how late its return is noticed. */
const DOWN_INTERVAL_MS = 250;
/** No response for so long counts as away. */
const PING_TIMEOUT_MS = 2_000;
/** What was seen so recently is not looked at again. */
const FRESH_MS = 100;

/** Whether PostgreSQL can be used, by looking again and again. */
export class StorageWatch {
  readonly #options: StorageWatchOptions;
  #isAvailable: boolean | undefined;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #check: Promise<boolean> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #fatalError: Error | undefined;
  readonly #firstAvailable = Promise.withResolvers<void>();

  constructor(options: StorageWatchOptions) {
    this.#options = options;
  }

  /** Whether it could be used when last looked. */
  get isAvailable(): boolean {
    return this.#isAvailable === true;
  }

  /** Resolves when it can be used for the first time. */
  get firstAvailable(): Promise<void> {
    return this.#firstAvailable.promise;
  }

  /** Looks for the first time, and from then on until stopped. @throws what waiting cannot fix */
  async start(): Promise<void> {
    await this.check();
    if (this.#fatalError !== undefined) throw this.#fatalError;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Whether it can be used now. Concurrent calls share one look. */
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
      // A migration may take its time; only a ping has to succeed soon.
      await (this.isAvailable ? withTimeout(this.#options.ping()) : this.#options.prepare());
      this.#become(true);
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      if (!this.isAvailable && !(error instanceof StorageUnavailableError)) {
        this.stop();
        this.#fatalError = reason;
        this.#options.onFatal(reason);
      } else {
        this.#become(false, reason);
      }
    }
    return this.isAvailable;
  }

  #become(isAvailable: boolean, reason?: Error): void {
    if (this.#isAvailable === isAvailable || this.#isStopped) return;
    this.#isAvailable = isAvailable;
    if (isAvailable) this.#firstAvailable.resolve();
    this.#options.onChange(isAvailable, reason);
  }
}

async function withTimeout(ping: Promise<void>): Promise<void> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new StorageUnavailableError(`PostgreSQL did not respond within ${PING_TIMEOUT_MS} ms`));
  }, PING_TIMEOUT_MS);
  try {
    await Promise.race([ping, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** An `onChange` that logs when PostgreSQL goes and comes back. */
export function logChanges(logger: Logger): StorageWatchOptions['onChange'] {
  let wasAway = false;
  return (isAvailable, reason) => {
    if (!isAvailable) logger.warn({ reason: reason?.message }, 'PostgreSQL is away; waiting for it');
    else if (wasAway) logger.info('PostgreSQL is back');
    wasAway = !isAvailable;
  };
}
