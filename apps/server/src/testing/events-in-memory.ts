import { EventEmitter, once } from 'node:events';
import {
  changedAt,
  DomainError,
  type EventPosition,
  type Order,
  type OrderEvent,
  type OrderEventId,
  type OrderEventLog,
  type OrderEventPage,
  type OrderEventType,
} from '@petstore/domain';

/** The log of events in the memory of this process. All events are kept: the id of each is its number. */
export class EventsInMemory implements OrderEventLog {
  readonly #events: OrderEvent[] = [];
  readonly #news = new EventEmitter().setMaxListeners(0); // one listener for each call that waits

  /** @param order as it is after the change */
  record(type: OrderEventType, order: Order): void {
    const id = BigInt(this.#events.length + 1) as OrderEventId; // positive
    this.#events.push({ id, type, at: changedAt(order), order });
    this.#news.emit('news');
  }

  async readEvents(after: EventPosition, limit: number): Promise<OrderEventPage> {
    const position = this.#find(after);
    const events = this.#events.slice(Number(position), Number(position) + limit);
    return { events, nextAfter: events.at(-1)?.id ?? position };
  }

  async waitForEvents(after: OrderEventId, limit: number, signal: AbortSignal): Promise<OrderEventPage> {
    const page = await this.readEvents(after, limit);
    if (page.events.length > 0 || signal.aborted) return page;
    await once(this.#news, 'news', { signal }).catch(() => {}); // rejects only if the signal is aborted
    return this.readEvents(after, limit);
  }

  #find(after: EventPosition): OrderEventId {
    const latest = BigInt(this.#events.length) as OrderEventId; // not negative
    if (after === 'now') return latest;
    if (after > latest) throw new DomainError('unknown_position', `the latest event is ${latest}`);
    return after;
  }
}
