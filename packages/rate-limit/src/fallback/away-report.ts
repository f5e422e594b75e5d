import type { Cluster, Redis } from 'ioredis';
import type { LimiterStateChange } from '../port.ts';
import { connectionTroubleOf, shortReason } from '../redis/connection-trouble.ts';
import type { RedisUnavailableError } from '../redis/redis-unavailable-error.ts';

export interface AwayReportOptions {
  readonly connection: Redis | Cluster;
  /** A node's `host:port` in a cluster, else `redis`. */
  readonly master: string;
  readonly onStateChange: ((change: LimiterStateChange) => void) | undefined;
}

/** Knows why a Redis is away, and reports once that it is, and once that it is back. */
export class AwayReport {
  readonly #options: AwayReportOptions;
  #reason: string | undefined;
  #isReported = false;
  #isClosed = false;

  constructor(options: AwayReportOptions) {
    this.#options = options;
  }

  /** What failed, or why there is no connection; `undefined` where nothing is known to be wrong. */
  get reason(): string | undefined {
    return this.#reason ?? this.#connectionTrouble();
  }

  /** Records a failed call. */
  note(error: RedisUnavailableError): void {
    this.#reason = this.#explain(error);
  }

  /** @param otherwise the reason, where none is known */
  report(otherwise: string): void {
    if (this.#isReported || this.#isClosed) return;
    this.#isReported = true;
    const { master, onStateChange } = this.#options;
    onStateChange?.({ countedIn: 'process', shard: master, reason: this.reason ?? otherwise });
  }

  /** Redis is back. */
  end(): void {
    this.#reason = undefined;
    if (!this.#isReported) return;
    this.#isReported = false;
    this.#options.onStateChange?.({ countedIn: 'redis', shard: this.#options.master, reason: 'Redis responds' });
  }

  /** Nothing is reported any more: the connection is being closed. */
  close(): void {
    this.#isClosed = true;
  }

  /** What Redis replied, or else why there is no connection. A call that was never sent knows no more than before. */
  #explain({ cause, message, mayHaveRun }: RedisUnavailableError): string | undefined {
    if (cause instanceof Error && cause.name === 'ReplyError') return shortReason(message);
    const isUnsent = cause !== undefined && !mayHaveRun;
    return this.#connectionTrouble() ?? (isUnsent ? this.#reason : shortReason(message));
  }

  #connectionTrouble(): string | undefined {
    return connectionTroubleOf(this.#options.connection)?.reasonOf(this.#options.master);
  }
}
