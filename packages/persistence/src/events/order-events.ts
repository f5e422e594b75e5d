import type { OrderEvent, OrderEventLog } from '@petstore/domain';
import type { QuerySender } from '../database/statement.ts';
import { deleteExpired } from './expired-events.ts';
import { Follower } from './follower.ts';
import { LiveEvents } from './live-events.ts';

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
  /** For how long a transaction under way keeps events from being read, in milliseconds; 0 where none does. */
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
  /** Ends all followers. */
  close(): void;
}

/** @param sender on the server that takes writes: a standby may lack what was delivered before */
export function createOrderEventStore(sender: QuerySender): OrderEventStore {
  let observer: OrderEventObserver | undefined;
  const live = new LiveEvents(sender, (events) => observer?.onRead(events));
  return {
    observe(given) {
      observer = given;
    },
    get followerCount() {
      return live.followerCount;
    },
    get heldUpMs() {
      return live.heldUpMs;
    },
    wakeFollowers: () => live.wake(),
    close: () => live.close(),
    deleteExpired: (before, now, signal) => deleteExpired(sender, { before, now, signal }),
    followEvents: (after, signal) =>
      new Follower(sender, live, { signal, onDelivered: (count) => observer?.onDelivered(count) }).begin(after),
  };
}
