import { setTimeout as sleep } from 'node:timers/promises';
import {
  BEGINNING_OF_EVENTS,
  type OrderEvent,
  type OrderEventId,
  StorageUnavailableError,
  UnknownPositionError,
} from '@petstore/domain';
import type { QuerySender } from '../database/statement.ts';
import { storageUnavailable } from '../database/storage-error.ts';
import { findLatestEvent } from './event-pages.ts';
import { EventWalk } from './event-walk.ts';

/** How often the log is read without a notification, in milliseconds. */
const POLL_MS = 100;

/** How long one who begins to follow waits for transactions that are writing events, in milliseconds. */
const BEGIN_MS = 2_500;

/** How soon it is tried again after PostgreSQL did not respond, in milliseconds. */
const RETRY_MS = 500;

/** How many events are kept for those who are a little behind. */
const RECENT_MAX = 4_096;

/** Called when the reader has read more, or with an error that ends the reading. */
export type OnNews = (error?: unknown) => void;

/** Where the reader stands, and what it has read last. */
export interface Readings {
  /** All events up to here have been committed or never will be. */
  readonly position: OrderEventId;
  /** The latest events, ascending and without a gap between them and the position. */
  readonly recent: readonly OrderEvent[];
  /** Behind which event they follow. */
  readonly recentAfter: OrderEventId;
}

/**
 * Reads new events once for all followers of this process, for as long as there is one.
 *
 * What it has read is kept in memory for a while, so that followers who keep up cost PostgreSQL nothing.
 */
export class LiveEvents {
  readonly #sender: QuerySender;
  readonly #onRead: (events: readonly OrderEvent[]) => void;
  readonly #followers = new Set<OnNews>();
  #reading: { readonly stop: AbortController; readonly begun: Promise<void> } | undefined;
  #walk: EventWalk | undefined;
  #readings: Readings = { position: BEGINNING_OF_EVENTS, recent: [], recentAfter: BEGINNING_OF_EVENTS };
  #call: (() => void) | undefined;
  /** Whether something was committed since the last read began. */
  #isCalled = false;

  constructor(sender: QuerySender, onRead: (events: readonly OrderEvent[]) => void) {
    this.#sender = sender;
    this.#onRead = onRead;
  }

  get followerCount(): number {
    return this.#followers.size;
  }

  /** For how long it is known that there are events which a transaction under way keeps from being read, in milliseconds. */
  get heldUpMs(): number {
    const since = this.#reading && this.#walk?.heldUpSinceMs;
    return since === undefined ? 0 : performance.now() - since;
  }

  get readings(): Readings {
    return this.#readings;
  }

  /**
   * Starts the reader for the first follower. The caller leaves at its end.
   *
   * @throws StorageUnavailableError where it cannot begin, or not soon, because a transaction that writes events stays
   * open; the signal's reason
   */
  async join(onNews: OnNews, signal: AbortSignal): Promise<void> {
    this.#followers.add(onNews);
    if (this.#reading === undefined) {
      const stop = new AbortController();
      this.#reading = { stop, begun: this.#begin(stop.signal) };
    }
    const reading = this.#reading;
    reading.begun.catch(() => {
      if (this.#reading === reading) this.#end();
    });
    const { promise: endedEarly, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort);
    const timer = setTimeout(() => reject(storageUnavailable('a transaction that records events is open')), BEGIN_MS);
    try {
      await Promise.race([reading.begun, endedEarly]);
    } catch (error) {
      this.leave(onNews);
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  leave(onNews: OnNews): void {
    if (this.#followers.delete(onNews) && this.#followers.size === 0) this.#end();
  }

  /** Reads at once: something was committed, most likely. */
  wake(): void {
    this.#isCalled = true;
    this.#call?.();
  }

  /** Ends all followers. */
  close(): void {
    this.#fail(storageUnavailable('closed'));
  }

  #end(): void {
    this.#reading?.stop.abort();
    this.#reading = undefined;
  }

  async #begin(signal: AbortSignal): Promise<void> {
    const walk = await EventWalk.beginAtEnd(this.#sender, signal);
    signal.throwIfAborted(); // another reading has begun since
    this.#walk = walk;
    this.#readings = { position: walk.position, recent: [], recentAfter: walk.position };
    void this.#read(walk, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#fail(error);
    });
  }

  #fail(error: unknown): void {
    this.#end();
    const followers = [...this.#followers];
    this.#followers.clear();
    for (const onNews of followers) onNews(error);
  }

  async #read(walk: EventWalk, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        this.#isCalled = false;
        const events = await walk.next(signal);
        if (signal.aborted) return;
        if (walk.position > this.#readings.position) this.#publish(events, walk.position);
        else await this.#untilCalled(signal);
      } catch (error) {
        if (!(error instanceof StorageUnavailableError)) throw error;
        await this.#untilBack(walk.position, signal);
      }
    }
  }

  #publish(events: readonly OrderEvent[], position: OrderEventId): void {
    const all = this.#readings.recent.concat(events);
    const recent = all.slice(-RECENT_MAX);
    const lastDropped = all[all.length - recent.length - 1];
    this.#readings = { position, recent, recentAfter: lastDropped?.id ?? this.#readings.recentAfter };
    this.#onRead(events);
    for (const onNews of this.#followers) onNews();
  }

  async #untilCalled(signal: AbortSignal): Promise<void> {
    if (this.#isCalled) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const call = () => resolve();
    this.#call = call;
    const timer = setTimeout(call, POLL_MS);
    signal.addEventListener('abort', call);
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', call);
    this.#call = undefined;
  }

  /** @throws UnknownPositionError where what was read is lost: another server has taken over which lacks it */
  async #untilBack(position: OrderEventId, signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(RETRY_MS, undefined, { signal });
      try {
        if ((await findLatestEvent(this.#sender)) >= position) return;
        throw new UnknownPositionError('the database has lost events that were read before');
      } catch (error) {
        if (!(error instanceof StorageUnavailableError)) throw error;
      }
    }
  }
}
