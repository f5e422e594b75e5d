import type { OrderEventId, OrderEventPage } from '@petstore/domain';

/** How often the log is looked at while somebody waits, in milliseconds, if no commit is announced. */
const LOOK_MS = 500;

export interface EventWaitsOptions {
  /** The latest committed event. */
  readonly findLatest: () => Promise<OrderEventId>;
  readonly readPage: (after: OrderEventId, limit: number) => Promise<OrderEventPage>;
}

interface Waiter extends PromiseWithResolvers<OrderEventPage> {
  readonly limit: number;
}

/** Those who wait at one position, and share the page behind it. */
interface Group {
  readonly waiters: Set<Waiter>;
  isReading: boolean;
}

/** Calls that wait for the event after their position: one look at the log serves all of them. Without them nobody looks. */
export class EventWaits {
  readonly #options: EventWaitsOptions;
  readonly #groups = new Map<OrderEventId, Group>();
  #isRunning = false;
  #wakeUp = Promise.withResolvers<void>();

  constructor(options: EventWaitsOptions) {
    this.#options = options;
  }

  /**
   * Waits until an event can be read after a position.
   *
   * @returns the page behind the position; one without events if the signal is aborted before
   * @throws DomainError, StorageUnavailableError
   */
  async wait(after: OrderEventId, limit: number, signal: AbortSignal): Promise<OrderEventPage> {
    const group = this.#groups.get(after) ?? { waiters: new Set(), isReading: false };
    const waiter = { ...Promise.withResolvers<OrderEventPage>(), limit };
    const leave = () => waiter.resolve({ events: [], nextAfter: after });
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    this.#groups.set(after, group);
    group.waiters.add(waiter);
    if (!this.#isRunning) void this.#run();
    try {
      return await waiter.promise;
    } finally {
      signal.removeEventListener('abort', leave);
      group.waiters.delete(waiter);
      if (group.waiters.size === 0 && this.#groups.get(after) === group) this.#groups.delete(after);
    }
  }

  /** Looks now: events were committed. */
  wake(): void {
    this.#wakeUp.resolve();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#groups.size > 0) {
      this.#wakeUp = Promise.withResolvers();
      await this.#look();
      const timer = setTimeout(this.#wakeUp.resolve, LOOK_MS);
      await this.#wakeUp.promise;
      clearTimeout(timer);
    }
    this.#isRunning = false;
  }

  async #look(): Promise<void> {
    try {
      const latest = await this.#options.findLatest();
      // A page may wait for a transaction that writes events; the next look does not wait for the page.
      for (const [after, group] of this.#groups)
        if (after !== latest && !group.isReading) void this.#read(after, group);
    } catch (error) {
      for (const { waiters } of this.#groups.values()) rejectAll(waiters, error);
    }
  }

  async #read(after: OrderEventId, group: Group): Promise<void> {
    const { waiters } = group;
    group.isReading = true;
    try {
      const page = await this.#options.readPage(after, Math.max(...[...waiters].map(({ limit }) => limit)));
      if (page.events.length === 0) return; // the event may still be preceded by another one: they wait on
      for (const { resolve, limit } of waiters) resolve(firstOf(page, limit));
    } catch (error) {
      rejectAll(waiters, error);
    } finally {
      group.isReading = false;
    }
  }
}

function rejectAll(waiters: ReadonlySet<Waiter>, error: unknown): void {
  for (const { reject } of waiters) reject(error);
}

function firstOf(page: OrderEventPage, limit: number): OrderEventPage {
  const events = page.events.slice(0, limit);
  return { events, nextAfter: events.at(-1)?.id ?? page.nextAfter };
}
