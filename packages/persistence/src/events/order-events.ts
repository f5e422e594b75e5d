import type { EventPosition, OrderEventLog, OrderEventPage } from '@petstore/domain';
import type { Database } from '../database/database.ts';
import { deleteExpired, type ExpiryOptions, findOldestEvent } from '../delete-expired.ts';
import { EventWaits } from './event-waits.ts';
import { findLogBounds, type RunOnLog } from './read-events.ts';
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
  // Pages, and looks for those who wait, are short: they stand behind no list or page of orders.
  const run: RunOnLog = (statement, values) => database.run('requests', statement, values);
  const readPage = (after: EventPosition, limit: number): Promise<OrderEventPage> =>
    database.inTime((caller) =>
      readEventPage((statement, values) => database.run('requests', statement, values, caller), after, limit),
    );
  const waits = new EventWaits({ findLatest: async () => (await findLogBounds(run)).latest, readPage });
  return {
    readEvents: readPage,
    waitForEvents: (after, limit, signal) => waits.wait(after, limit, signal),
    wakeWaiting: () => waits.wake(),
    deleteExpired: (options) => deleteExpired(database, options),
    findOldest: () => findOldestEvent(database),
  };
}
