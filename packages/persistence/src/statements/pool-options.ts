import type { ServerPulse } from './server-pulse.ts';

export interface PoolOptions {
  /** How many connections; those that commit gain from more, because a connection commits one by one. */
  readonly size: number;
  /** When the server gives a statement up. */
  readonly statementTimeoutMs: number;
  /** How long a statement may wait behind others, in milliseconds. @default as long as its caller waits at all */
  readonly queuePatienceMs?: number;
  /** What is known of the server by all pools together. */
  readonly pulse: ServerPulse;
  readonly durations?: DurationObserver | undefined;
}

/** Observes how long statements take, those before it on its connection included. */
export interface DurationObserver {
  /** Called when the server has responded, or the connection was lost. Must be cheap and never throw. */
  observe(durationSeconds: number): void;
}
