import { type Brand, INT64_MAX, parseInt64 } from './ids.ts';
import type { Order } from './order.ts';

/** The changes of orders. `order.imported` stands for imported and generated orders, in any state. */
export const ORDER_EVENT_TYPES = [
  'order.placed',
  'order.imported',
  'order.shipped',
  'order.completed',
  'order.cancelled',
] as const;

export type OrderEventType = (typeof ORDER_EVENT_TYPES)[number];

/**
 * The place of an event in the log: 0 to 2^63 - 1, ascending as events are delivered. Most follow one another, but
 * numbers may be left out.
 */
export type OrderEventId = Brand<bigint, 'OrderEventId'>;

/** The beginning of what is kept; the first event comes behind it. */
export const BEGINNING_OF_EVENTS = 0n as OrderEventId; // no event has it

/** @returns the position, or `undefined` if the text is not a canonical number from 0 to 2^63 - 1 */
export function parseOrderEventId(text: string): OrderEventId | undefined {
  const value = parseInt64(text);
  return value !== undefined && value >= 0n && value <= INT64_MAX ? (value as OrderEventId) : undefined; // it was checked
}

/** A change of an order that was committed. */
export interface OrderEvent {
  readonly id: OrderEventId;
  readonly type: OrderEventType;
  /** When it happened. Of events of different orders a later one may have an earlier time. */
  readonly at: Date;
  /** As it was after the change. */
  readonly order: Order;
}

/** Where a consumer starts to read: after an event, or with the next one that is committed. */
export type EventPosition = OrderEventId | 'now';

/** The log of all changes of orders. */
export interface OrderEventLog {
  /**
   * Follows events, in the order of their ids: none is left out, and those of one order come in the order in which they
   * were committed. It goes on until the signal is aborted.
   *
   * @returns once the position is known, so that nothing committed from then on is missed
   * @throws UnknownPositionError if no event has been given that id yet
   * @throws OrderEventsExpiredError if events behind the position have been deleted; also later, to a slow reader
   * @throws StorageUnavailableError
   */
  followEvents(after: EventPosition, signal: AbortSignal): Promise<FollowedEvents>;
}

/** Events as they come, some at a time. To be iterated over once. */
export interface FollowedEvents extends AsyncIterable<readonly OrderEvent[]> {
  /** Where it begins: behind this event. */
  readonly position: OrderEventId;
}

/** Thrown for a position beyond the latest event. */
export class UnknownPositionError extends Error {
  override readonly name = 'UnknownPositionError';
}

/** Thrown where events that a reader has yet to see have been deleted. */
export class OrderEventsExpiredError extends Error {
  override readonly name = 'OrderEventsExpiredError';
}

/** The Redis channel on which it is said that events were recorded: all processes then look for them. */
export const ORDER_EVENTS_CHANNEL = 'petstore:order-events';
