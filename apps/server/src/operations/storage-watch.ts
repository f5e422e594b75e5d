import { setTimeout as sleep } from 'node:timers/promises';
import { StorageUnavailableError } from '@petstore/domain';
import type { Availability, Persistence } from '@petstore/persistence';
import type { Logger } from 'pino';

/** `read-only`: it responds, but takes no writes, so it is not used. */
export type StorageState = Availability['state'];

export interface StorageSeen {
  readonly state: StorageState;
  /** Why PostgreSQL cannot be used, if that is known. */
  readonly reason: Error | undefined;
}

export interface StorageWatchOptions {
  /** Checks PostgreSQL periodically, and reports each check. */
  readonly storage: Pick<Persistence, 'observe' | 'ping'>;
  /**
   * Called whenever PostgreSQL becomes available, before its state is `up`: prepares its schema. Any rejection other than a
   * StorageUnavailableError ends the watch.
   */
  prepare(): Promise<void>;
  /** Called at each change, including the first state. */
  onChange(state: StorageState, reason?: Error): void;
  /** Called with an error that waiting cannot fix, such as a schema of a newer program. The watch has then ended. */
  onFatal(error: Error): void;
}

/** How long {@link StorageWatch.check} waits for PostgreSQL. */
const CHECK_TIMEOUT_MS = 250;

/** Whether PostgreSQL can be used, with its schema prepared. */
export class StorageWatch {
  readonly #options: StorageWatchOptions;
  #state: StorageState | undefined;
  #reason: Error | undefined;
  #seen: Availability | undefined;
  #preparing: Promise<void> | undefined;
  #isStopped = false;
  #fatalError: Error | undefined;
  readonly #firstUp = Promise.withResolvers<void>();

  constructor(options: StorageWatchOptions) {
    this.#options = options;
  }

  /** The state at the last check. */
  get state(): StorageState {
    return this.#state ?? 'unavailable';
  }

  /** Whether PostgreSQL could be used at the last check. */
  get isAvailable(): boolean {
    return this.state === 'up';
  }

  /** Resolves when PostgreSQL can first be used. */
  get firstUp(): Promise<void> {
    return this.#firstUp.promise;
  }

  /** Watches until stopped. Resolves after the first check. @throws an error that waiting cannot fix */
  async start(): Promise<void> {
    const { storage } = this.#options;
    storage.observe((seen) => this.#observe(seen));
    await this.#look();
    if (this.#fatalError !== undefined) throw this.#fatalError;
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Checks now. Returns the last known state if the check takes longer than {@link CHECK_TIMEOUT_MS}. */
  async check(): Promise<StorageSeen> {
    if (!this.#isStopped) await Promise.race([this.#look(), timeout()]);
    return { state: this.state, reason: this.#reason };
  }

  async #look(): Promise<void> {
    await this.#options.storage.ping().catch(() => {}); // the observer has its result
    await this.#preparing;
  }

  #observe(seen: Availability): void {
    if (this.#isStopped) return;
    this.#seen = seen;
    if (seen.state !== 'up') {
      this.#become(seen.state, seen.failure);
    } else if (this.isAvailable) {
      this.#become('up');
    } else {
      this.#preparing ??= this.#prepare().finally(() => {
        this.#preparing = undefined;
      });
    }
  }

  async #prepare(): Promise<void> {
    try {
      await this.#options.prepare();
      if (this.#seen?.state === 'up') this.#become('up');
    } catch (error) {
      // The schema is prepared again after the next check that reaches PostgreSQL.
      if (error instanceof StorageUnavailableError) return this.#become('unavailable', error);
      const fatal = toError(error);
      this.stop();
      this.#fatalError = fatal;
      this.#options.onFatal(fatal);
    }
  }

  #become(state: StorageState, reason?: Error): void {
    if (this.#isStopped) return;
    this.#reason = reason;
    if (this.#state === state) return;
    this.#state = state;
    if (state === 'up') this.#firstUp.resolve();
    this.#options.onChange(state, reason);
  }
}

const timeout = () => sleep(CHECK_TIMEOUT_MS, undefined, { ref: false });

const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** An `onChange` that logs when PostgreSQL goes away and comes back. */
export function logChanges(logger: Logger): StorageWatchOptions['onChange'] {
  let before: StorageState = 'up';
  return (state, reason) => {
    if (state !== 'up') logger.warn({ reason: reason?.message }, 'PostgreSQL is unavailable; waiting for it');
    else if (before !== 'up') logger.info('PostgreSQL is available again');
    before = state;
  };
}

/** Logs that requests wait for fewer connections than the settings allow. */
export const logFewConnections = (logger: Logger) => (): void =>
  logger.warn(
    'PostgreSQL has reached its connection limit, below DATABASE_CONNECTIONS; requests wait for a free connection of the pool',
  );
