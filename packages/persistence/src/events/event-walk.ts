import { setTimeout as sleep } from 'node:timers/promises';
import { INT64_MAX, type OrderEvent, type OrderEventId, OrderEventsExpiredError } from '@petstore/domain';
import type { QuerySender } from '../database/statement.ts';
import { EVENT_PAGE_MAX, findLatestEvent, findWriters, readEvents } from './event-pages.ts';

/** How often to check whether the transactions that were under way have ended. */
const WRITERS_POLL_MS = 5;

/**
 * Walks forward through the log. Ids are drawn before they are committed, so an event may appear behind one with a larger
 * id. Where an id is missing the walk waits for the transactions that were under way when the larger one was seen: what
 * is missing then was never committed.
 */
export class EventWalk {
  readonly #sender: QuerySender;
  #position: OrderEventId;
  /** No event with an id up to this one can appear any more. */
  #settled: bigint;
  #heldUpSinceMs: number | undefined;

  private constructor(sender: QuerySender, position: OrderEventId) {
    this.#sender = sender;
    this.#position = position;
    this.#settled = position;
  }

  /** Begins behind the latest event: what is committed from when this resolves is walked through. */
  static async beginAtEnd(sender: QuerySender, signal: AbortSignal): Promise<EventWalk> {
    const latest = await findLatestEvent(sender);
    await untilWritersHaveEnded(sender, signal);
    return new EventWalk(sender, latest);
  }

  /** All events up to here have been walked through. */
  get position(): OrderEventId {
    return this.#position;
  }

  /** Since when, by `performance.now()`, it waits for a transaction; `undefined` while it waits for none. */
  get heldUpSinceMs(): number | undefined {
    return this.#heldUpSinceMs;
  }

  /**
   * The events that follow, none where there are none yet. Called again while it gives some.
   *
   * @throws StorageUnavailableError, OrderEventsExpiredError, and the signal's reason
   */
  async next(signal: AbortSignal): Promise<readonly OrderEvent[]> {
    if (this.#position < this.#settled) return this.#nextSettled();
    const events = await this.#read(INT64_MAX);
    const contiguous = countContiguous(this.#position, events);
    this.#heldUpSinceMs = undefined;
    if (contiguous > 0 || events.length === 0) return this.#advance(events.slice(0, contiguous));
    const last = events.at(-1)?.id ?? this.#position;
    this.#heldUpSinceMs = performance.now();
    await untilWritersHaveEnded(this.#sender, signal);
    this.#heldUpSinceMs = undefined;
    this.#settled = last;
    return this.#nextSettled();
  }

  async #nextSettled(): Promise<readonly OrderEvent[]> {
    const events = await this.#read(this.#settled);
    if (events.length < EVENT_PAGE_MAX) this.#position = this.#settled as OrderEventId; // the id of an event
    return this.#advance(events);
  }

  async #read(upTo: bigint): Promise<readonly OrderEvent[]> {
    const { events, deletedThrough } = await readEvents(this.#sender, this.#position, upTo);
    if (deletedThrough > this.#position) throw new OrderEventsExpiredError('events were deleted before they were read');
    return events;
  }

  #advance(events: readonly OrderEvent[]): readonly OrderEvent[] {
    const last = events.at(-1);
    if (last !== undefined && last.id > this.#position) this.#position = last.id;
    return events;
  }
}

/** How many of the events have ids that follow one another. */
function countContiguous(position: bigint, events: readonly OrderEvent[]): number {
  const gap = events.findIndex(({ id }, i) => id !== position + BigInt(i) + 1n);
  return gap === -1 ? events.length : gap;
}

/** Waits for the transactions that are writing events now, and not for later ones. */
async function untilWritersHaveEnded(sender: QuerySender, signal: AbortSignal): Promise<void> {
  let writers = await findWriters(sender);
  while (writers.size > 0) {
    await sleep(WRITERS_POLL_MS, undefined, { signal });
    const now = await findWriters(sender);
    writers = new Set([...writers].filter((writer) => now.has(writer)));
  }
}
