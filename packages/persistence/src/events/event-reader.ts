import { setTimeout as sleep } from 'node:timers/promises';
import { INT64_MAX, type OrderEvent, type OrderEventId, StorageUnavailableError } from '@petstore/domain';
import { prepareStatement, type QuerySender, runStatement } from '../statements/pipelined-query.ts';
import { storageUnavailable } from '../storage-error.ts';
import { readEvents, readPage } from './read-events.ts';

/** How often the log is read if no commit is announced, in milliseconds. */
const POLL_MS = 100;

/** How often to check whether the transactions that write events have ended, in milliseconds. */
const WRITERS_POLL_MS = 5;

/** How long it may take to begin, because transactions that write events are open, in milliseconds. */
const BEGIN_MS = 2_500;

/** How soon PostgreSQL is asked again after it was unavailable, in milliseconds. */
const RETRY_MS = 500;

/** How many events are kept for followers that are a little behind. */
const RECENT_MAX = 4_096;

/** The transactions that write events: each takes this lock before it draws an id, and keeps it until it has ended. */
const FIND_WRITERS = prepareStatement<readonly [transaction: string]>(
  'find-order-event-writers',
  `select virtualtransaction from pg_locks
   where relation = 'order_events'::regclass and mode = 'RowExclusiveLock' and granted
     and database = (select oid from pg_database where datname = current_database())`,
);

/**
 * Reads the log from its end on, once for all followers in this process, until it is ended or fails.
 *
 * Ids are drawn before they are committed, so an event may appear behind one with a larger id. If an id is missing, the
 * reader waits until the transactions have ended that were writing events when the gap was seen: what is missing then
 * was never committed. A snapshot (`pg_snapshot_xmin`) cannot say so, because an id is drawn before its transaction has a
 * number, and would also make readers wait for transactions that write no events.
 */
export class EventReader {
  readonly #sender: QuerySender;
  readonly #onRead: (events: readonly OrderEvent[]) => void;
  readonly #ending = new AbortController();
  #position: OrderEventId | undefined;
  #recent: readonly OrderEvent[] = [];
  /** The recent events are all that there are between this one and the position. */
  #recentAfter = 0n;
  #heldUpSinceMs: number | undefined;
  #wakeUp = () => {};
  #news = Promise.withResolvers<void>();

  constructor(sender: QuerySender, onRead: (events: readonly OrderEvent[]) => void) {
    this.#sender = sender;
    this.#onRead = onRead;
    this.#read().catch((error: unknown) => this.end(error));
  }

  /** Aborted when it has ended, with the error that it failed with. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Each event up to here has been read or never will be committed; `undefined` until it has begun. */
  get position(): OrderEventId | undefined {
    return this.#position;
  }

  /** Resolves when there may be something new: events, the beginning, the end. */
  get news(): Promise<void> {
    return this.#news.promise;
  }

  /** For how long it has been waiting for a transaction that writes events, in milliseconds; 0 if it does not wait. */
  get heldUpMs(): number {
    return this.#heldUpSinceMs === undefined ? 0 : performance.now() - this.#heldUpSinceMs;
  }

  /** The events between a position and that of the reader; `undefined` if they are not in memory any more. */
  recentAfter(position: OrderEventId): readonly OrderEvent[] | undefined {
    if (position < this.#recentAfter) return undefined;
    return this.#recent.slice(this.#recent.findLastIndex(({ id }) => id <= position) + 1);
  }

  /** Has it read at once, because something was committed. */
  wake(): void {
    this.#wakeUp();
  }

  end(reason?: unknown): void {
    this.#ending.abort(reason);
    this.tellNews();
  }

  tellNews(): void {
    this.#news.resolve();
    this.#news = Promise.withResolvers();
  }

  async #read(): Promise<void> {
    await this.#begin();
    const { signal } = this;
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        this.#wakeUp = resolve;
      });
      try {
        if (!(await this.#readNext())) await Promise.race([woken, sleep(POLL_MS, undefined, { signal })]);
      } catch (error) {
        await untilRetry(error, signal);
      }
    }
  }

  async #begin(): Promise<void> {
    const { latest } = await readPage(this.#sender, 0n, 0n);
    const timer = setTimeout(() => this.end(storageUnavailable('a transaction that records events is open')), BEGIN_MS);
    await this.#untilWritersHaveEnded().finally(() => clearTimeout(timer));
    this.#position = latest;
    this.#recentAfter = latest;
    this.tellNews();
  }

  /** @returns whether there were new events */
  async #readNext(): Promise<boolean> {
    const after = this.#position ?? 0n;
    let events = await readEvents(this.#sender, after, INT64_MAX);
    const gap = events.findIndex(({ id }, index) => id !== after + BigInt(index) + 1n);
    if (gap === 0) {
      await this.#untilWritersHaveEnded();
      events = await readEvents(this.#sender, after, events.at(-1)?.id ?? after);
    } else if (gap > 0) events = events.slice(0, gap);
    const last = events.at(-1);
    if (last === undefined || this.signal.aborted) return false;
    this.#position = last.id;
    const recent = [...this.#recent, ...events];
    this.#recentAfter = recent.at(-RECENT_MAX - 1)?.id ?? this.#recentAfter;
    this.#recent = recent.slice(-RECENT_MAX);
    this.#onRead(events);
    this.tellNews();
    return true;
  }

  /** Waits for the transactions that write events now, and not for later ones. */
  async #untilWritersHaveEnded(): Promise<void> {
    const findWriters = async () => (await runStatement(this.#sender, FIND_WRITERS, [])).map(([writer]) => writer);
    try {
      for (let writers = await findWriters(); writers.length > 0; ) {
        this.#heldUpSinceMs ??= performance.now();
        await sleep(WRITERS_POLL_MS, undefined, { signal: this.signal });
        const current = new Set(await findWriters());
        writers = writers.filter((writer) => current.has(writer));
      }
    } finally {
      this.#heldUpSinceMs = undefined;
    }
  }
}

/**
 * Waits before PostgreSQL is asked again.
 *
 * @throws the error, unless it is StorageUnavailableError; AbortError
 */
export async function untilRetry(error: unknown, signal: AbortSignal): Promise<void> {
  if (!(error instanceof StorageUnavailableError)) throw error;
  await sleep(RETRY_MS, undefined, { signal });
}
