import { type Brand, INT64_MAX, parseInt64 } from './ids.ts';
import type { StoredOrder } from './order.ts';
import { ORDER_COMMANDS, ORDER_TRANSITIONS, type OrderCommand } from './order-states.ts';

/** The changes of orders. `order.imported` covers imported and generated orders, in any state. */
export type OrderEventType = 'order.placed' | 'order.imported' | (typeof ORDER_TRANSITIONS)[OrderCommand]['event'];

export const ORDER_EVENT_TYPES: readonly OrderEventType[] = [
  'order.placed',
  'order.imported',
  ...ORDER_COMMANDS.map((command) => ORDER_TRANSITIONS[command].event),
];

/** The type of an event that a newer release has recorded, and this one does not know. */
export type UnknownEventType = Brand<string, 'UnknownEventType'>;

/**
 * The position of an event in the log: 0 to 2^63 - 1, ascending in the order of delivery. Most ids are consecutive, but
 * some numbers may be left out.
 */
export type OrderEventId = Brand<bigint, 'OrderEventId'>;

/** The longest wait for an event, in seconds: below the idle timeouts of common proxies. */
export const EVENT_WAIT_MAX_SECONDS = 50;

/** The position before the first event that is kept. */
export const BEGINNING_OF_EVENTS = 0n as OrderEventId; // no event has it

/** @returns the position, or `undefined` if the text is not a canonical number from 0 to 2^63 - 1 */
export function parseOrderEventId(text: string): OrderEventId | undefined {
  const value = parseInt64(text);
  return value !== undefined && value >= 0n && value <= INT64_MAX ? (value as OrderEventId) : undefined; // it was checked
}

/** A committed change of an order. */
export interface OrderEvent {
  readonly id: OrderEventId;
  readonly type: OrderEventType | UnknownEventType;
  /** When it happened. Between different orders, a later event may have an earlier time. */
  readonly at: Date;
  /** The order after the change. */
  readonly order: StoredOrder;
}

/** Where a consumer starts to read: after an event, or with the next event that is committed. */
export type EventPosition = OrderEventId | 'now';

/** The log of all changes of orders. */
export interface OrderEventLog {
  /**
   * Reads events in ascending order of their ids, none missing. Events of one order come in the order in which they were
   * committed. An event behind one that may still be committed is left to the next page.
   *
   * @param limit the maximum number of events
   * @throws DomainError `unknown_position` if no event has that id yet, `events_expired`
   * @throws StorageUnavailableError
   */
  readEvents(after: EventPosition, limit: number): Promise<OrderEventPage>;
  /**
   * Waits until an event can be read after a position, and reads the page that begins with it.
   *
   * @param limit the maximum number of events
   * @returns a page without events if the signal is aborted before
   * @throws the same as {@link readEvents}
   */
  waitForEvents(after: OrderEventId, limit: number, signal: AbortSignal): Promise<OrderEventPage>;
}

/** Some of the events after a position. */
export interface OrderEventPage {
  readonly events: readonly OrderEvent[];
  /** Where the next page begins: the position that was asked for if no event can be read after it. */
  readonly nextAfter: OrderEventId;
}
