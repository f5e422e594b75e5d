import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { INT64_MAX, type OrderEvent, type OrderEventId, StorageUnavailableError } from '@petstore/domain';
import { storageUnavailable } from '../database/errors.ts';
import { TIMEOUTS_MS } from '../database/timeouts.ts';
import { findLogBounds, type RunOnLog, readEvents } from './read-events.ts';
import { countBeforeGap, waitForWriters } from './writers.ts';

/** How often the log is read if no commit is announced, in milliseconds. */
const POLL_MS = 100;

/** How long to wait before a retry after PostgreSQL was unavailable, in milliseconds. */
const RETRY_MS = 500;

/** The number of events kept for followers that are a little behind. */
const RECENT_MAX = 4_096;

/** Reads the log from its end, once for all followers in this process. An event is given once no other can appear before it. */
export class EventReader {
  readonly #run: RunOnLog;
  readonly #ending = new AbortController();
  #position: OrderEventId | undefined;
  /** All events after {@link #recentAfter}, up to the position. */
  #recent: readonly OrderEvent[] = [];
  #recentAfter: OrderEventId | undefined;
  #stalledSinceMs: number | undefined;
  #lagMs = Number.NaN;
  #wakeUp = Promise.withResolvers<void>();
  readonly #news = new EventEmitter().setMaxListeners(0); // one listener for each follower

  constructor(run: RunOnLog) {
    this.#run = run;
    this.#read().catch((error: unknown) => this.end(error));
  }

  /** Every event up to here was read or will never be committed; `undefined` until the reader has begun. */
  get position(): OrderEventId | undefined {
    return this.#position;
  }

  /** Aborted when the reader has ended, with the error that ended it. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /**
   * Resolves when the position changes or the reader ends.
   *
   * @throws the signal's reason
   */
  async untilNews(signal: AbortSignal): Promise<void> {
    await once(this.#news, 'news', { signal }).catch(() => {}); // rejects only if the signal is aborted
    signal.throwIfAborted();
  }

  /** How long the reader has waited for a transaction that writes events, in milliseconds; 0 if it does not wait. */
  get stalledMs(): number {
    return this.#stalledSinceMs === undefined ? 0 : performance.now() - this.#stalledSinceMs;
  }

  /** The time between the latest event's change and its reading, in milliseconds; NaN if no event was read yet. */
  get lagMs(): number {
    return this.#lagMs;
  }

  /** The events between a position and the reader's; `undefined` if some of them are no longer in memory. */
  recentAfter(position: OrderEventId): readonly OrderEvent[] | undefined {
    if (this.#recentAfter === undefined || position < this.#recentAfter) return undefined;
    return this.#recent.slice(this.#recent.findLastIndex(({ id }) => id <= position) + 1);
  }

  /** Makes the reader read now. */
  wake(): void {
    this.#wakeUp.resolve();
  }

  end(reason?: unknown): void {
    this.#ending.abort(reason);
    this.#news.emit('news');
  }

  async #read(): Promise<void> {
    const { signal } = this;
    let position = await this.#findEnd();
    this.#advance(position, []);
    while (!signal.aborted) {
      this.#wakeUp = Promise.withResolvers();
      try {
        const events = await this.#readBehind(position);
        position = events.at(-1)?.id ?? position;
        if (events.length > 0) this.#advance(position, events);
        else await Promise.race([this.#wakeUp.promise, sleep(POLL_MS, undefined, { signal })]);
      } catch (error) {
        await untilRetry(error, signal);
      }
    }
  }

  /** The latest event, once no event before it can appear any more. */
  async #findEnd(): Promise<OrderEventId> {
    const { latest } = await findLogBounds(this.#run);
    const giveUp = () => this.end(storageUnavailable('a transaction that records events is open'));
    const timer = setTimeout(giveUp, TIMEOUTS_MS.followersBegin);
    await this.#waitForWriters().finally(() => clearTimeout(timer));
    return latest;
  }

  #advance(position: OrderEventId, events: readonly OrderEvent[]): void {
    const recent = [...this.#recent, ...events];
    this.#recentAfter = recent.at(-RECENT_MAX - 1)?.id ?? this.#recentAfter ?? position;
    this.#recent = recent.slice(-RECENT_MAX);
    this.#position = position;
    const latest = events.at(-1);
    if (latest !== undefined) this.#lagMs = Math.max(0, Date.now() - latest.at.getTime());
    this.#news.emit('news');
  }

  /** The events after a position, once no other event can appear between them. */
  async #readBehind(position: OrderEventId): Promise<readonly OrderEvent[]> {
    const events = await readEvents(this.#run, position, INT64_MAX);
    const count = countBeforeGap(events, position);
    const last = events.at(-1);
    if (count > 0 || last === undefined) return events.slice(0, count);
    await this.#waitForWriters();
    return readEvents(this.#run, position, last.id);
  }

  async #waitForWriters(): Promise<void> {
    const noteWait = () => {
      this.#stalledSinceMs ??= performance.now();
    };
    try {
      await waitForWriters(this.#run, this.signal, noteWait);
    } finally {
      this.#stalledSinceMs = undefined;
    }
  }
}

/**
 * Waits before a retry.
 *
 * @throws the error, unless it is StorageUnavailableError; AbortError
 */
export async function untilRetry(error: unknown, signal: AbortSignal): Promise<void> {
  if (!(error instanceof StorageUnavailableError)) throw error;
  await sleep(RETRY_MS, undefined, { signal });
}
