import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { INT64_MAX, type OrderEvent, type OrderEventId, StorageUnavailableError } from '@petstore/domain';
import type { Database } from '../database/database.ts';
import { storageUnavailable } from '../database/errors.ts';
import { prepareStatement } from '../database/statement.ts';
import { TIMEOUTS_MS } from '../database/timeouts.ts';
import { findLogBounds, LOCKS_OF_WRITERS, readEvents } from './read-events.ts';

/** How often the log is read if no commit is announced, in milliseconds. */
const POLL_MS = 100;

/**
 * How often to check whether the transactions that write events have ended, in milliseconds. Most end at once. Reading locks
 * costs the server something, so the pause grows with the wait, an eighth of it, which delays events by no more than that.
 */
const WRITERS_POLL_MIN_MS = 5;
const WRITERS_POLL_MAX_MS = 250;
const WRITERS_POLL_SHARE = 1 / 8;

/** How long to wait before a retry after PostgreSQL was unavailable, in milliseconds. */
const RETRY_MS = 500;

/** The number of events kept for followers that are a little behind. */
const RECENT_MAX = 4_096;

const FIND_WRITERS = prepareStatement<{ readonly virtualtransaction: string }>(
  'find-order-event-writers',
  `select virtualtransaction from ${LOCKS_OF_WRITERS}`,
);

/**
 * Reads the log from its end, once for all followers in this process.
 *
 * Ids are drawn before they are committed, so an event may appear after one with a larger id. If an id is missing, the
 * reader waits for the end of all transactions that were writing events when the gap was seen: an id that is then missing
 * was never committed. A snapshot (`pg_snapshot_xmin`) would not show this, because an id is drawn before its transaction
 * has a number. It would also make readers wait for transactions that write no events.
 */
export class EventReader {
  readonly #database: Database;
  readonly #ending = new AbortController();
  #position: OrderEventId | undefined;
  /** All events after {@link #recentAfter}, up to the position. */
  #recent: readonly OrderEvent[] = [];
  #recentAfter: OrderEventId | undefined;
  #heldUpSinceMs: number | undefined;
  #lagMs = Number.NaN;
  #wakeUp = Promise.withResolvers<void>();
  readonly #news = new EventEmitter().setMaxListeners(0); // one listener for each follower

  constructor(database: Database) {
    this.#database = database;
    this.#run().catch((error: unknown) => this.end(error));
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
  get heldUpMs(): number {
    return this.#heldUpSinceMs === undefined ? 0 : performance.now() - this.#heldUpSinceMs;
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

  async #run(): Promise<void> {
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
    const { latest } = await findLogBounds(this.#database);
    const giveUp = () => this.end(storageUnavailable('a transaction that records events is open'));
    const timer = setTimeout(giveUp, TIMEOUTS_MS.followersBegin);
    await this.#untilWritersHaveEnded().finally(() => clearTimeout(timer));
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
    const events = await readEvents(this.#database, position, INT64_MAX);
    const gap = events.findIndex(({ id }, index) => id !== position + BigInt(index) + 1n);
    if (gap !== 0) return gap === -1 ? events : events.slice(0, gap);
    await this.#untilWritersHaveEnded();
    return readEvents(this.#database, position, events.at(-1)?.id ?? position);
  }

  /** Waits for the transactions that write events now, but not for later ones. */
  async #untilWritersHaveEnded(): Promise<void> {
    const findWriters = async () =>
      (await this.#database.run('events', FIND_WRITERS, [])).map((row) => row.virtualtransaction);
    try {
      for (let writers = await findWriters(); writers.length > 0; ) {
        this.#heldUpSinceMs ??= performance.now();
        const pauseMs = Math.max(WRITERS_POLL_MIN_MS, this.heldUpMs * WRITERS_POLL_SHARE);
        await sleep(Math.min(pauseMs, WRITERS_POLL_MAX_MS), undefined, { signal: this.signal });
        const current = new Set(await findWriters());
        writers = writers.filter((writer) => current.has(writer));
      }
    } finally {
      this.#heldUpSinceMs = undefined;
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
