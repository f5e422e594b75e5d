import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, StorageUnavailableError } from '@petstore/domain';
import type { OrderEventStore } from '@petstore/persistence';

/** The time between two deletions is a tenth of the retention, within these bounds, in milliseconds. */
const INTERVAL_MIN_MS = 500;
const INTERVAL_MAX_MS = 600_000;

export interface EventCleanupOptions {
  readonly events: OrderEventStore;
  readonly retentionMs: number;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/**
 * Deletes events older than the retention, and expired idempotency keys, again and again.
 *
 * @returns a function that ends it
 */
export function startEventCleanup({ events, retentionMs, clock, onError }: EventCleanupOptions): () => Promise<void> {
  const ending = new AbortController();
  const { signal } = ending;
  const intervalMs = Math.min(Math.max(retentionMs / 10, INTERVAL_MIN_MS), INTERVAL_MAX_MS);
  const run = async () => {
    for (;;) {
      await sleep(intervalMs, undefined, { signal, ref: false });
      const now = clock();
      try {
        await events.deleteExpired({ eventsBefore: new Date(now.getTime() - retentionMs), now, signal });
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof StorageUnavailableError)) onError(error); // otherwise the watch logs it, and the next run tries again
      }
    }
  };
  const ended = run().catch(() => {}); // it ends by the signal
  return () => {
    ending.abort();
    return ended;
  };
}
