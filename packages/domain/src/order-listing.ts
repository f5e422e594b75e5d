import type { Order, OrderStatus } from './order.ts';

/**
 * An order as text, never converted to a bigint, number or Date: lists of millions are written out as they were read.
 */
export interface OrderText {
  /** A 64-bit integer in decimal digits. */
  readonly id: string;
  /** A 64-bit integer in decimal digits. */
  readonly petId: string;
  /** Units ordered, in decimal digits. */
  readonly quantity: string;
  /** RFC 3339 in UTC with milliseconds, such as `2026-01-02T03:04:05.678Z`; `undefined` if it is unknown. */
  readonly shipDate: string | undefined;
  readonly status: OrderStatus;
  readonly complete: boolean;
}

/** A part of a list. Only the last batch can be empty; it may also be the only one. */
export interface OrderBatch<Orders extends Iterable<unknown> = readonly Order[]> {
  readonly orders: Orders;
  /** Whether this is the last batch of the list. */
  readonly isLast: boolean;
}

/** Each order is made when the iteration reaches it: a batch that is written in parts never holds all of them. */
export type OrderTextBatch = OrderBatch<Iterable<OrderText>>;
