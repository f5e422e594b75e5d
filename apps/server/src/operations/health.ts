import { describeStorageFailure, type Sequences } from '@petstore/persistence';
import type { Limits, LimitsMode } from './open-limiter.ts';
import type { StorageState, StorageWatch } from './storage-watch.ts';

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
  readonly storage: Pick<StorageWatch, 'isAvailable' | 'state' | 'check'>;
  readonly limits: Pick<Limits, 'mode' | 'awayReason' | 'modeChanges'>;
  readonly sequences: Pick<Sequences, 'behind' | 'align'>;
}

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

  /** As of the last check. */
  get isStorageUp(): boolean {
    return this.#sources?.storage.isAvailable ?? false;
  }

  /** Whether it serves, as of the last check. */
  get isReady(): boolean {
    return this.#phase === 'serving' && this.#sources?.storage.state === 'up';
  }

  get limitsMode(): LimitsMode | 'unknown' {
    return this.#sources?.limits.mode() ?? 'unknown';
  }

  get limitsModeChanges(): number {
    return this.#sources?.limits.modeChanges() ?? 0;
  }

  /** Names the sequences that were left behind, and looks again: rows, a right or a promotion may have come since. */
  #describeSequences(): readonly string[] {
    const sequences = this.#sources?.sequences;
    if (sequences === undefined) return [];
    const problems = [...sequences.behind].map(
      ([name, reason]) => `the sequence ${name} is behind its table (${reason})`,
    );
    sequences.align().catch(() => {}); // the next report has its outcome, or says why PostgreSQL is away
    return problems;
  }

  /** Checks PostgreSQL again, in a quarter of a second at most. */
  async report(): Promise<ReadinessReport> {
    const storage = this.#sources?.storage;
    // A server that is stopping is not ready, whatever the state of the database.
    const seen = this.#phase === 'stopping' ? undefined : await storage?.check();
    const state = seen?.state ?? storage?.state ?? 'away';
    const limits = this.limitsMode;
    const problems: string[] = [];
    if (this.#phase === 'starting') problems.push('the server is starting');
    if (this.#phase === 'stopping') problems.push('the server is stopping');
    if (state !== 'up') problems.push(describeStorage(state, seen?.reason));
    const status = problems.length === 0 ? 'ready' : 'not ready';
    if (limits === 'degraded') problems.push(describeAway(this.#sources?.limits.awayReason()));
    problems.push(...this.#describeSequences());
    return { status, problems, postgres: state === 'away' ? 'down' : state, limits };
  }
}

function describeStorage(state: Exclude<StorageState, 'up'>, reason: Error | undefined): string {
  if (state === 'read-only') return 'PostgreSQL is read-only: orders can be read, and not changed';
  return reason === undefined
    ? 'PostgreSQL has not been reached, or its schema is not ready'
    : describeStorageFailure(reason);
}

const describeAway = (reason: string | undefined): string =>
  `Redis is away${reason === undefined ? '' : ` (${reason})`}: limits are counted in this process`;
