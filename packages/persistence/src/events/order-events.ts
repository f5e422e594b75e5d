import type { EventPosition, OrderEventLog, OrderEventPage } from '@petstore/domain';
import type { Database } from '../database/database.ts';
import { inTime } from '../database/in-time.ts';
import type { Purpose } from '../database/pool.ts';
import { deleteExpired, type ExpiryOptions, findOldestEvent } from '../delete-expired.ts';
import { EventWaits } from './event-waits.ts';
import { findLogBounds } from './read-events.ts';
import { readEventPage } from './read-page.ts';

export interface OrderEventStore extends OrderEventLog {
  /** Looks for those who wait after a commit: they need not wait until the next look. */
  wakeWaiting(): void;
  /** Deletes expired events and idempotency keys: see {@link deleteExpired}. */
  deleteExpired(options: ExpiryOptions): Promise<number>;
  /** The time of the oldest event that can be read; `undefined` if there is none. */
  findOldest(): Promise<Date | undefined>;
}

/** The log of events in PostgreSQL. */
export function createOrderEvents(database: Database): OrderEventStore {
  const readPage = (purpose: Purpose, after: EventPosition, limit: number): Promise<OrderEventPage> =>
    inTime((caller) =>
      readEventPage((statement, values) => database.run(purpose, statement, values, caller), after, limit),
    );
  // Looks for those who wait are few and short: they stand behind no page of others.
  const waits = new EventWaits({
    findLatest: async () =>
      (await findLogBounds((statement, values) => database.run('requests', statement, values))).latest,
    readPage: (after, limit) => readPage('requests', after, limit),
  });
  return {
    readEvents: (after, limit) => readPage('long', after, limit),
    waitForEvents: (after, limit, signal) => waits.wait(after, limit, signal),
    wakeWaiting: () => waits.wake(),
    deleteExpired: (options) => deleteExpired(database, options),
    findOldest: () => findOldestEvent(database),
  };
}
