import {
  BEGINNING_OF_EVENTS,
  type EventPosition,
  type FollowedEvents,
  type OrderEvent,
  type OrderEventId,
  type OrderEventLog,
} from '@petstore/domain';
import type { QuerySender } from '../statements/pipelined-query.ts';
import { storageUnavailable } from '../storage-error.ts';
import { deleteExpired } from './delete-expired.ts';
import { EventReader, untilRetry } from './event-reader.ts';
import { assertKept, readEvents, readPage } from './read-events.ts';

/** Counts what the log delivers. Must be cheap and never throw. */
export interface OrderEventObserver {
  /** Called with what was read, once for all followers. */
  onRead(events: readonly OrderEvent[]): void;
  /** Called with how many events one of the followers was given. */
  onDelivered(count: number): void;
}

/** The log of events in PostgreSQL. */
export interface OrderEventStore extends OrderEventLog {
  /** Replaces the observer. */
  observe(observer: OrderEventObserver): void;
  /** How many follow it in this process. */
  readonly followerCount: number;
  /** For how long an open transaction has kept events from being read, in milliseconds; 0 if none does. */
  readonly heldUpMs: number;
  /** Wakes the followers after a commit, so that they need not wait for the next poll. */
  wakeFollowers(): void;
  /**
   * Deletes the oldest events that happened before a moment, and forgets idempotency keys that have expired. Each step is
   * short; where another process does the same nothing is done.
   *
   * @returns how many events were deleted
   * @throws StorageUnavailableError, and the signal's reason
   */
  deleteExpired(before: Date, now: Date, signal: AbortSignal): Promise<number>;
  /** Ends all followers, with StorageUnavailableError. */
  close(): void;
}

/** @param sender on the server that takes writes: a standby may lack what was delivered before */
export function createOrderEventStore(sender: QuerySender): OrderEventStore {
  return new EventFeed(sender);
}

/**
 * The first follower starts a reader, the last one ends it. Followers that keep up are given what the reader has read,
 * others read pages of their own until they reach it.
 */
class EventFeed implements OrderEventStore {
  readonly #sender: QuerySender;
  /** Followers, by what ends them. */
  readonly #followers = new Set<() => void>();
  #reader: EventReader | undefined;
  #observer: OrderEventObserver | undefined;

  constructor(sender: QuerySender) {
    this.#sender = sender;
  }

  get followerCount(): number {
    return this.#followers.size;
  }

  get heldUpMs(): number {
    return this.#reader?.heldUpMs ?? 0;
  }

  observe(observer: OrderEventObserver): void {
    this.#observer = observer;
  }

  readonly wakeFollowers = (): void => this.#reader?.wake();

  deleteExpired(before: Date, now: Date, signal: AbortSignal): Promise<number> {
    return deleteExpired(this.#sender, { before, now, signal });
  }

  close(): void {
    this.#reader?.end(storageUnavailable('closed'));
  }

  async followEvents(after: EventPosition, signal: AbortSignal): Promise<FollowedEvents> {
    signal.throwIfAborted();
    if (this.#reader === undefined || this.#reader.signal.aborted) {
      this.#reader = new EventReader(this.#sender, (events) => this.#observer?.onRead(events));
    }
    const reader = this.#reader;
    const leave = () => {
      if (this.#followers.delete(leave) && this.#followers.size === 0) this.#reader?.end();
      reader.tellNews(); // it wakes this follower, too
    };
    this.#followers.add(leave);
    signal.addEventListener('abort', leave, { once: true });
    try {
      while (reader.position === undefined) {
        await reader.news;
        signal.throwIfAborted();
        reader.signal.throwIfAborted();
      }
      const position = after === 'now' ? reader.position : await this.#findPosition(after);
      signal.throwIfAborted();
      return { position, [Symbol.asyncIterator]: () => this.#follow(reader, { position, signal, leave }) };
    } catch (error) {
      leave();
      throw error;
    }
  }

  async #findPosition(after: OrderEventId): Promise<OrderEventId> {
    const page = await readPage(this.#sender, after, after);
    if (after === BEGINNING_OF_EVENTS) return page.deletedThrough;
    assertKept(after, page);
    return after;
  }

  async *#follow(
    reader: EventReader,
    { position: begin, signal, leave }: { position: OrderEventId; signal: AbortSignal; leave: () => void },
  ): AsyncGenerator<readonly OrderEvent[]> {
    let position = begin;
    try {
      while (!signal.aborted) {
        reader.signal.throwIfAborted();
        const settled = reader.position ?? position;
        if (position >= settled) await reader.news;
        else {
          const events = reader.recentAfter(position) ?? (await this.#readPatiently(position, settled, signal));
          position = events.at(-1)?.id ?? settled;
          this.#observer?.onDelivered(events.length);
          if (events.length > 0) yield events;
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      leave();
    }
  }

  /** @throws OrderEventsExpiredError, UnknownPositionError, AbortError */
  async #readPatiently(after: bigint, upTo: bigint, signal: AbortSignal): Promise<readonly OrderEvent[]> {
    for (;;) {
      try {
        return await readEvents(this.#sender, after, upTo);
      } catch (error) {
        await untilRetry(error, signal);
      }
    }
  }
}
