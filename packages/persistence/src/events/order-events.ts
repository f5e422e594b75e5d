import {
  BEGINNING_OF_EVENTS,
  type EventPosition,
  type FollowedEvents,
  type OrderEvent,
  type OrderEventId,
  type OrderEventLog,
} from '@petstore/domain';
import type { Database } from '../database/database.ts';
import { storageUnavailable } from '../database/errors.ts';
import { deleteExpired, type ExpiryOptions } from '../delete-expired.ts';
import { EventReader, untilRetry } from './event-reader.ts';
import { findLogBounds, readEvents } from './read-events.ts';

interface Follower {
  readonly reader: EventReader;
  readonly signal: AbortSignal;
  readonly leave: () => void;
}

/**
 * The log of events in PostgreSQL.
 *
 * The first follower starts a reader, and the last one ends it. Followers that keep up get the events that the reader has
 * read; others read pages themselves until they have caught up.
 */
export class OrderEventStore implements OrderEventLog {
  readonly #database: Database;
  /** Functions that end the followers, one for each. */
  readonly #followers = new Set<() => void>();
  #reader: EventReader | undefined;
  #deliveredCount = 0;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The number of followers in this process. */
  get followerCount(): number {
    return this.#followers.size;
  }

  /** How long an open transaction has kept events from being read, in milliseconds; 0 if none does. */
  get heldUpMs(): number {
    return this.#reader?.heldUpMs ?? 0;
  }

  /** The number of events delivered to followers in this process; an event counts once for each follower. */
  get deliveredCount(): number {
    return this.#deliveredCount;
  }

  /** The time between the latest event's change and its reading for followers, in milliseconds; NaN if none was read yet. */
  get lagMs(): number {
    return this.#reader?.lagMs ?? Number.NaN;
  }

  /** Wakes the followers after a commit: they need not wait for the next poll. */
  readonly wakeFollowers = (): void => this.#reader?.wake();

  /** Ends all followers with StorageUnavailableError. */
  close(): void {
    this.#reader?.end(storageUnavailable('closed'));
  }

  /** Deletes expired events and idempotency keys: see {@link deleteExpired}. */
  deleteExpired(options: ExpiryOptions): Promise<number> {
    return deleteExpired(this.#database, options);
  }

  async followEvents(after: EventPosition, signal: AbortSignal): Promise<FollowedEvents> {
    signal.throwIfAborted();
    if (this.#reader === undefined || this.#reader.signal.aborted) {
      this.#reader = new EventReader(this.#database);
    }
    const reader = this.#reader;
    const leave = () => {
      if (this.#followers.delete(leave) && this.#followers.size === 0) this.#reader?.end();
    };
    this.#followers.add(leave);
    signal.addEventListener('abort', leave, { once: true });
    try {
      while (reader.position === undefined) {
        await reader.untilNews(signal);
        reader.signal.throwIfAborted();
      }
      const position = await this.#findPosition(after, reader.position);
      signal.throwIfAborted();
      return { position, [Symbol.asyncIterator]: () => this.#follow(position, { reader, signal, leave }) };
    } catch (error) {
      leave();
      throw error;
    }
  }

  async #findPosition(after: EventPosition, now: OrderEventId): Promise<OrderEventId> {
    if (after === 'now') return now;
    if (after === BEGINNING_OF_EVENTS) return (await findLogBounds(this.#database)).deletedThrough;
    await readEvents(this.#database, after, after); // reads nothing; throws if the position is invalid
    return after;
  }

  async *#follow(from: OrderEventId, { reader, signal, leave }: Follower): AsyncGenerator<readonly OrderEvent[]> {
    let position = from;
    try {
      while (!signal.aborted) {
        reader.signal.throwIfAborted();
        const settled = reader.position ?? position;
        if (position >= settled) {
          await reader.untilNews(signal);
          continue;
        }
        let events = reader.recentAfter(position);
        try {
          events ??= await readEvents(this.#database, position, settled);
        } catch (error) {
          await untilRetry(error, signal);
          continue;
        }
        position = events.at(-1)?.id ?? settled;
        if (events.length === 0) continue;
        this.#deliveredCount += events.length;
        yield events;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      leave();
    }
  }
}

export const createOrderEvents = (database: Database): OrderEventStore => new OrderEventStore(database);
