import { describeStorageFailure } from '@petstore/persistence';
import type { Limits, LimitsMode } from './open-limiter.ts';
import type { StorageWatch } from './storage-watch.ts';

/** The body of /readyz. */
export interface ReadinessReport {
  readonly status: 'ready' | 'not ready';
  /** Why it is not ready, or what works less well than it should. Empty if all is well. */
  readonly problems: readonly string[];
  readonly postgres: 'up' | 'read-only' | 'down';
  readonly limits: LimitsMode | 'unknown';
}

/** What health is read from. */
interface HealthSources {
  readonly storage: Pick<StorageWatch, 'state' | 'check'>;
  readonly limits: Pick<Limits, 'readState'>;
}

const NOT_REACHED = 'PostgreSQL has not been reached, or its schema is not ready';

/** The report while there is nothing to read health from. */
const STARTING: ReadinessReport = {
  status: 'not ready',
  problems: ['the server is starting', NOT_REACHED],
  postgres: 'down',
  limits: 'unknown',
};

/** Whether this process should receive requests. */
export class Health {
  #sources: HealthSources | undefined;
  #phase: 'starting' | 'serving' | 'stopping' = 'starting';

  /** Called once, when the sources exist. */
  observe(sources: HealthSources): void {
    this.#sources = sources;
  }

  /** @returns whether it serves, which it does not if it is already stopping */
  beginServing(): boolean {
    if (this.#phase === 'starting') this.#phase = 'serving';
    return this.#phase === 'serving';
  }

  /** Final: the process is never ready again. */
  beginStopping(): void {
    this.#phase = 'stopping';
  }

  /** Whether it serves, as of the last check. */
  get isReady(): boolean {
    return this.#phase === 'serving' && this.#sources?.storage.state === 'up';
  }

  /** Checks PostgreSQL again, in a quarter of a second at most. */
  async report(): Promise<ReadinessReport> {
    if (this.#sources === undefined) return STARTING;
    const { storage, limits } = this.#sources;
    // A server that is stopping is not ready, whatever the state of the database.
    const isStopping = this.#phase === 'stopping';
    const { state, reason } = isStopping ? { state: storage.state, reason: undefined } : await storage.check();
    const { mode, unavailableReason } = limits.readState();
    const problems: string[] = [];
    if (this.#phase !== 'serving') problems.push(`the server is ${this.#phase}`);
    if (state !== 'up') problems.push(reason === undefined ? NOT_REACHED : describeStorageFailure(reason));
    const status = problems.length === 0 ? 'ready' : 'not ready';
    if (mode === 'degraded') problems.push(describeUnavailable(unavailableReason));
    return { status, problems, postgres: state === 'unavailable' ? 'down' : state, limits: mode };
  }
}

const describeUnavailable = (reason: string | undefined): string =>
  `Redis is unavailable${reason === undefined ? '' : ` (${reason})`}: limits are counted in this process`;
