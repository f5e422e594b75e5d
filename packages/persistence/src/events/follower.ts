import { setTimeout as sleep } from 'node:timers/promises';
import {
  BEGINNING_OF_EVENTS,
  type EventPosition,
  type FollowedEvents,
  type OrderEvent,
  type OrderEventId,
  OrderEventsExpiredError,
  StorageUnavailableError,
  UnknownPositionError,
} from '@petstore/domain';
import type { QuerySender } from '../database/statement.ts';
import { EVENT_PAGE_MAX, findLatestEvent, readEvents } from './event-pages.ts';
import type { LiveEvents } from './live-events.ts';

/** How soon a follower reads again after PostgreSQL did not respond, in milliseconds. */
const RETRY_MS = 500;

export interface FollowerOptions {
  readonly signal: AbortSignal;
  readonly onDelivered: (count: number) => void;
}

/** A consumer of the log: recent events come from the shared reader, older ones from pages of its own. */
export class Follower {
  readonly #sender: QuerySender;
  readonly #live: LiveEvents;
  readonly #signal: AbortSignal;
  readonly #onDelivered: (count: number) => void;
  #position: OrderEventId = BEGINNING_OF_EVENTS;
  #failure: unknown;
  #wakeUp: (() => void) | undefined;

  constructor(sender: QuerySender, live: LiveEvents, { signal, onDelivered }: FollowerOptions) {
    this.#sender = sender;
    this.#live = live;
    this.#signal = signal;
    this.#onDelivered = onDelivered;
  }

  /** @throws UnknownPositionError, OrderEventsExpiredError, StorageUnavailableError, and the signal's reason */
  async begin(after: EventPosition): Promise<FollowedEvents> {
    this.#signal.throwIfAborted();
    this.#signal.addEventListener('abort', this.#leave, { once: true });
    await this.#live.join(this.#onNews, this.#signal);
    try {
      this.#signal.throwIfAborted();
      this.#position = after === 'now' ? this.#live.readings.position : await this.#check(after);
      return { position: this.#position, [Symbol.asyncIterator]: () => this.#follow() };
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  async *#follow(): AsyncGenerator<readonly OrderEvent[]> {
    try {
      while (!this.#signal.aborted) {
        if (this.#failure !== undefined) throw this.#failure;
        const events = await this.#next();
        if (events.length === 0) continue;
        this.#onDelivered(events.length);
        yield events;
      }
    } finally {
      this.#leave();
    }
  }

  readonly #onNews = (error?: unknown): void => {
    this.#failure = error;
    this.#wakeUp?.();
  };

  readonly #leave = (): void => {
    this.#live.leave(this.#onNews);
    this.#wakeUp?.();
  };

  async #check(after: OrderEventId): Promise<OrderEventId> {
    const latest = await findLatestEvent(this.#sender);
    if (after > latest) throw new UnknownPositionError(`the latest event is ${latest}`);
    const { deletedThrough } = await readEvents(this.#sender, after, after);
    if (after === BEGINNING_OF_EVENTS) return deletedThrough;
    assertKept(after, deletedThrough);
    return after;
  }

  async #next(): Promise<readonly OrderEvent[]> {
    const { position, recent, recentAfter } = this.#live.readings;
    if (this.#position >= position) {
      await new Promise<void>((resolve) => {
        this.#wakeUp = resolve;
      });
      return [];
    }
    if (this.#position < recentAfter) return this.#readPage(position);
    const seen = recent.findLastIndex(({ id }) => id <= this.#position);
    this.#position = position;
    return recent.slice(seen + 1);
  }

  async #readPage(upTo: OrderEventId): Promise<readonly OrderEvent[]> {
    try {
      const { events, deletedThrough } = await readEvents(this.#sender, this.#position, upTo);
      assertKept(this.#position, deletedThrough);
      this.#position = events.length < EVENT_PAGE_MAX ? upTo : (events.at(-1)?.id ?? upTo);
      return events;
    } catch (error) {
      if (!(error instanceof StorageUnavailableError)) throw error;
      await sleep(RETRY_MS, undefined, { signal: this.#signal }).catch(() => {}); // it ends by the signal
      return [];
    }
  }
}

/** @throws OrderEventsExpiredError */
function assertKept(position: OrderEventId, deletedThrough: OrderEventId): void {
  if (position < deletedThrough) throw new OrderEventsExpiredError(`events up to ${deletedThrough} have been deleted`);
}
