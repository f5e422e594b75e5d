import {
  BEGINNING_OF_EVENTS,
  type EventPosition,
  type OrderEvent,
  type OrderEventId,
  type OrderEventLog,
} from '@petstore/domain';
import type { Database } from '../database/database.ts';
import { storageUnavailable } from '../database/errors.ts';
import { inTime } from '../database/in-time.ts';
import { deleteExpired, type ExpiryOptions } from '../delete-expired.ts';
import { EventReader, untilRetry } from './event-reader.ts';
import { findLogBounds, type RunOnLog, readEvents } from './read-events.ts';
import { readEventPage } from './read-page.ts';

export interface OrderEventStore extends OrderEventLog {
  /** The number of followers in this process. */
  readonly followerCount: number;
  /** The number of events delivered to followers in this process; an event counts once for each follower. */
  readonly deliveredCount: number;
  /** How long an open transaction has kept events from being read, in milliseconds; 0 if none does. */
  readonly stalledMs: number;
  /** The time between the latest event's change and its reading for followers, in milliseconds; NaN if none was read yet. */
  readonly lagMs: number;
  /** Wakes the followers after a commit: they need not wait for the next poll. */
  wakeFollowers(): void;
  /** Deletes expired events and idempotency keys: see {@link deleteExpired}. */
  deleteExpired(options: ExpiryOptions): Promise<number>;
  /** Ends all followers with StorageUnavailableError. */
  close(): void;
}

/**
 * The log of events in PostgreSQL.
 *
 * The first follower starts a reader, and the last one ends it. Followers that keep up get the events that the reader has
 * read; others read pages themselves until they have caught up.
 */
export function createOrderEvents(database: Database): OrderEventStore {
  const run: RunOnLog = (statement, values) => database.run('events', statement, values);
  /** Functions that end the followers, one for each. */
  const followers = new Set<() => void>();
  let latestReader: EventReader | undefined;
  let deliveredCount = 0;
  return {
    get followerCount() {
      return followers.size;
    },
    get deliveredCount() {
      return deliveredCount;
    },
    get stalledMs() {
      return latestReader?.stalledMs ?? 0;
    },
    get lagMs() {
      return latestReader?.lagMs ?? Number.NaN;
    },
    wakeFollowers: () => latestReader?.wake(),
    deleteExpired: (options) => deleteExpired(database, options),
    close: () => latestReader?.end(storageUnavailable('closed')),
    readEvents: (after, limit) =>
      inTime((caller) =>
        readEventPage((statement, values) => database.run('polls', statement, values, caller), after, limit),
      ),
    async followEvents(after, signal) {
      signal.throwIfAborted();
      if (latestReader === undefined || latestReader.signal.aborted) latestReader = new EventReader(run);
      const reader = latestReader;
      const leave = () => {
        if (followers.delete(leave) && followers.size === 0) latestReader?.end();
      };
      followers.add(leave);
      signal.addEventListener('abort', leave, { once: true });
      try {
        while (reader.position === undefined) {
          await reader.untilNews(signal);
          reader.signal.throwIfAborted();
        }
        const position = await findPosition(run, after, reader.position);
        signal.throwIfAborted();
        const follow = async function* () {
          try {
            for await (const events of followFrom(run, position, reader, signal)) {
              deliveredCount += events.length;
              yield events;
            }
          } catch (error) {
            if (!signal.aborted) throw error;
          } finally {
            leave();
          }
        };
        return { position, [Symbol.asyncIterator]: follow };
      } catch (error) {
        leave();
        throw error;
      }
    },
  };
}

async function findPosition(run: RunOnLog, after: EventPosition, now: OrderEventId): Promise<OrderEventId> {
  if (after === 'now') return now;
  if (after === BEGINNING_OF_EVENTS) return (await findLogBounds(run)).deletedThrough;
  await readEvents(run, after, after); // reads nothing; throws if the position is invalid
  return after;
}

/** Batches of the events after a position, until the signal is aborted. */
async function* followFrom(
  run: RunOnLog,
  from: OrderEventId,
  reader: EventReader,
  signal: AbortSignal,
): AsyncGenerator<readonly OrderEvent[]> {
  let position = from;
  while (!signal.aborted) {
    reader.signal.throwIfAborted();
    const settled = reader.position ?? position;
    if (position >= settled) {
      await reader.untilNews(signal);
      continue;
    }
    let events = reader.recentAfter(position);
    try {
      events ??= await readEvents(run, position, settled);
    } catch (error) {
      await untilRetry(error, signal);
      continue;
    }
    position = events.at(-1)?.id ?? settled;
    if (events.length > 0) yield events;
  }
}
