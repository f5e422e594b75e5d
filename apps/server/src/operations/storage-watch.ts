import { StorageUnavailableError } from '@petstore/domain';
import type { PingResult } from '@petstore/persistence';
import type { Logger } from 'pino';

/** `read-only`: reads work, and nothing else. */
export type StorageState = 'up' | 'read-only' | 'away';

export interface StorageWatchOptions {
  /** Whether PostgreSQL responds; rejects with a StorageUnavailableError where not. */
  ping(): Promise<PingResult>;
  /**
   * Called whenever PostgreSQL is there (again), before it counts as available: prepares its schema. Any rejection but a
   * StorageUnavailableError ends the watch.
   */
  prepare(): Promise<void>;
  /** Called at each change, the first one included. */
  onChange(state: StorageState, reason?: Error): void;
  /** Called with what waiting cannot fix, such as a schema of a newer program. The watch has then ended. */
  onFatal(error: Error): void;
}

/** Between two checks while it is there. With what a ping may take, it decides when a server that hangs is noticed. */
const UP_INTERVAL_MS = 500;
/** Between two checks while it is away; also how late its return is noticed. */
const DOWN_INTERVAL_MS = 250;
/** No response for so long counts as away. */
const PING_TIMEOUT_MS = 2_000;
/** A result that recent is used again. */
const FRESH_MS = 100;
/** How long {@link StorageWatch.check} waits for a ping. */
const CHECK_TIMEOUT_MS = 250;

/** Whether PostgreSQL can be used: checks it again and again. */
export class StorageWatch {
  readonly #options: StorageWatchOptions;
  #state: StorageState | undefined;
  #reason: Error | undefined;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #checking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #fatalError: Error | undefined;
  readonly #firstAvailable = Promise.withResolvers<void>();

  constructor(options: StorageWatchOptions) {
    this.#options = options;
  }

  /** What could be done at the last check. */
  get state(): StorageState {
    return this.#state ?? 'away';
  }

  /** Whether it could be read at the last check. */
  get isAvailable(): boolean {
    return this.state !== 'away';
  }

  /** Why it is away, where that is known: as seen last. */
  get awayReason(): Error | undefined {
    return this.#reason;
  }

  /** Resolves when it can be used for the first time. */
  get firstAvailable(): Promise<void> {
    return this.#firstAvailable.promise;
  }

  /** Checks for the first time, and from then on until stopped. @throws what waiting cannot fix */
  async start(): Promise<void> {
    await this.#checkOnce();
    if (this.#fatalError !== undefined) throw this.#fatalError;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** The state now; the last one seen where a ping takes longer than {@link CHECK_TIMEOUT_MS}. */
  async check(): Promise<StorageState> {
    if (!this.#isStopped && performance.now() - this.#checkedAtMs >= FRESH_MS) {
      await settledWithin(this.#checkOnce(), CHECK_TIMEOUT_MS);
    }
    return this.state;
  }

  /** Concurrent calls share one check. */
  #checkOnce(): Promise<void> {
    this.#checking ??= this.#checkNow().finally(() => {
      this.#checking = undefined;
      this.#checkedAtMs = performance.now();
      this.#checkLater();
    });
    return this.#checking;
  }

  #checkLater(): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    const intervalMs = this.isAvailable ? UP_INTERVAL_MS : DOWN_INTERVAL_MS;
    this.#timer = setTimeout(() => void this.#checkOnce(), intervalMs).unref();
  }

  async #checkNow(): Promise<void> {
    try {
      // A migration may take its time; only a ping has to succeed soon.
      if (!this.isAvailable) await this.#options.prepare();
      const { isReadOnly } = await withTimeout(this.#options.ping());
      this.#become(isReadOnly ? 'read-only' : 'up');
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      if (!this.isAvailable && !(error instanceof StorageUnavailableError)) {
        this.stop();
        this.#fatalError = reason;
        this.#options.onFatal(reason);
      } else {
        this.#become('away', reason);
      }
    }
  }

  #become(state: StorageState, reason?: Error): void {
    if (this.#isStopped) return;
    this.#reason = reason;
    if (this.#state === state) return;
    this.#state = state;
    if (this.isAvailable) this.#firstAvailable.resolve();
    this.#options.onChange(state, reason);
  }
}

async function withTimeout(ping: Promise<PingResult>): Promise<PingResult> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new StorageUnavailableError('PostgreSQL is hung (no response)'));
  }, PING_TIMEOUT_MS);
  try {
    return await Promise.race([ping, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

async function settledWithin(work: Promise<void>, timeoutMs: number): Promise<void> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, timeoutMs);
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}

/** An `onChange` that logs when PostgreSQL goes and comes back. */
export function logChanges(logger: Logger): StorageWatchOptions['onChange'] {
  let before: StorageState = 'up';
  return (state, reason) => {
    if (state === 'away') logger.warn({ reason: reason?.message }, 'PostgreSQL is away; waiting for it');
    else if (state === 'read-only') logger.warn('PostgreSQL is read-only; orders can be read, and not changed');
    else if (before !== 'up') logger.info('PostgreSQL is back');
    before = state;
  };
}
