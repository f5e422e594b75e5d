import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '@petstore/domain';
import type { OrderEventStore } from '@petstore/persistence';
import type { Logger } from 'pino';

/** The time between two deletions is a tenth of the retention, within these bounds, in milliseconds. */
const INTERVAL_MIN_MS = 500;
const INTERVAL_MAX_MS = 600_000;

export interface EventCleanupOptions {
  readonly events: OrderEventStore;
  readonly retentionMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface EventCleanup extends AsyncDisposable {
  /** The age of the oldest event that the last deletion left, in seconds; 0 if it left none. */
  oldestAgeSeconds(): number;
  readonly retentionSeconds: number;
}

/** Deletes events older than the retention, and expired idempotency keys, again and again, until it is disposed of. */
export function startEventCleanup({ events, retentionMs, clock, logger }: EventCleanupOptions): EventCleanup {
  const ending = new AbortController();
  const { signal } = ending;
  const intervalMs = Math.min(Math.max(retentionMs / 10, INTERVAL_MIN_MS), INTERVAL_MAX_MS);
  let oldestAt: Date | undefined;
  const run = async () => {
    for (;;) {
      await sleep(intervalMs, undefined, { signal, ref: false });
      const now = clock();
      const eventsBefore = new Date(now.getTime() - retentionMs);
      const onError = (rows: string, err: unknown) => logger.error({ err }, `expired ${rows} could not be deleted`);
      await events.deleteExpired({ eventsBefore, now, signal, onError });
      try {
        oldestAt = await events.findOldest();
      } catch (err) {
        logger.error({ err }, 'the oldest event could not be read');
      }
    }
  };
  const ended = run().catch(() => {}); // it ends by the signal
  return {
    oldestAgeSeconds: () => (oldestAt === undefined ? 0 : Math.max(0, clock().getTime() - oldestAt.getTime()) / 1_000),
    retentionSeconds: retentionMs / 1_000,
    async [Symbol.asyncDispose]() {
      ending.abort();
      await ended;
    },
  };
}
