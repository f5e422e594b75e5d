import {
  BEGINNING_OF_EVENTS,
  type EventPosition,
  type FollowedEvents,
  type OrderEvent,
  type OrderEventId,
  type OrderEventLog,
} from '@petstore/domain';
import type { QuerySender } from '../database/statement.ts';
import { storageUnavailable } from '../database/storage-error.ts';
import { deleteExpiredEvents, deleteExpiredKeys } from './delete-expired.ts';
import { EventReader, untilRetry } from './event-reader.ts';
import { findLogBounds, readEvents } from './read-events.ts';

/** Counts what the log delivers. Must be cheap and never throw. */
export interface OrderEventObserver {
  /** Called with what was read, once for all followers. */
  onRead(events: readonly OrderEvent[]): void;
  /** Called with how many events one of the followers was given. */
  onDelivered(count: number): void;
}

interface Follower {
  readonly reader: EventReader;
  readonly signal: AbortSignal;
  readonly leave: () => void;
}

/**
 * The log of events in PostgreSQL.
 *
 * The first follower starts a reader, and the last one ends it. Followers that keep up are given what the reader has read;
 * others read pages of their own until they have reached it.
 */
export class OrderEventStore implements OrderEventLog {
  readonly #sender: QuerySender;
  /** Functions that end the followers, one for each. */
  readonly #followers = new Set<() => void>();
  #reader: EventReader | undefined;
  #observer: OrderEventObserver | undefined;

  /** @param sender to the server that takes writes: a standby may lack what was delivered before */
  constructor(sender: QuerySender) {
    this.#sender = sender;
  }

  /** Replaces the observer. */
  observe(observer: OrderEventObserver): void {
    this.#observer = observer;
  }

  /** How many follow it in this process. */
  get followerCount(): number {
    return this.#followers.size;
  }

  /** For how long an open transaction has kept events from being read, in milliseconds; 0 if none does. */
  get heldUpMs(): number {
    return this.#reader?.heldUpMs ?? 0;
  }

  /** Wakes the followers after a commit, so that they need not wait for the next poll. */
  readonly wakeFollowers = (): void => this.#reader?.wake();

  /** Ends all followers, with StorageUnavailableError. */
  close(): void {
    this.#reader?.end(storageUnavailable('closed'));
  }

  /**
   * Deletes the oldest events that happened before a moment, and forgets idempotency keys that have expired. Each step is
   * short, and nothing is done while another process does the same.
   *
   * @returns how many events were deleted
   * @throws StorageUnavailableError, and the signal's reason
   */
  async deleteExpired(before: Date, now: Date, signal: AbortSignal): Promise<number> {
    await deleteExpiredKeys(this.#sender, now, signal);
    return deleteExpiredEvents(this.#sender, before, signal);
  }

  async followEvents(after: EventPosition, signal: AbortSignal): Promise<FollowedEvents> {
    signal.throwIfAborted();
    if (this.#reader === undefined || this.#reader.signal.aborted) {
      this.#reader = new EventReader(this.#sender, (events) => this.#observer?.onRead(events));
    }
    const reader = this.#reader;
    const leave = () => {
      if (this.#followers.delete(leave) && this.#followers.size === 0) this.#reader?.end();
      reader.tellNews(); // so that this follower does not wait for any
    };
    this.#followers.add(leave);
    signal.addEventListener('abort', leave, { once: true });
    try {
      while (reader.position === undefined) {
        await reader.news;
        signal.throwIfAborted();
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
    if (after === BEGINNING_OF_EVENTS) return (await findLogBounds(this.#sender)).deletedThrough;
    await readEvents(this.#sender, after, after); // it finds none, but what is wrong with the position
    return after;
  }

  async *#follow(from: OrderEventId, { reader, signal, leave }: Follower): AsyncGenerator<readonly OrderEvent[]> {
    let position = from;
    try {
      while (!signal.aborted) {
        reader.signal.throwIfAborted();
        const settled = reader.position ?? position;
        if (position >= settled) {
          await reader.news;
          continue;
        }
        let events = reader.recentAfter(position);
        try {
          events ??= await readEvents(this.#sender, position, settled);
        } catch (error) {
          await untilRetry(error, signal);
          continue;
        }
        position = events.at(-1)?.id ?? settled;
        if (events.length === 0) continue;
        this.#observer?.onDelivered(events.length);
        yield events;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      leave();
    }
  }
}
