import type { OrderStatus } from './order.ts';

/**
 * An order as text, of which no bigint, number or Date was made: lists of millions are written out as they were read.
 */
export interface OrderText {
  /** A 64-bit integer in decimal digits. */
  readonly id: string;
  /** A 64-bit integer in decimal digits. */
  readonly petId: string;
  /** Units ordered, in decimal digits. */
  readonly quantity: string;
  /** RFC 3339 in UTC with milliseconds, such as `2026-01-02T03:04:05.678Z`; `undefined` if it is not known. */
  readonly shipDate: string | undefined;
  readonly status: OrderStatus;
  readonly complete: boolean;
}

/** A part of a list of {@link OrderText}. Only the last part of a list, which may be its only one, can be empty. */
export interface OrderTextBatch {
  /** Each is made when it is reached, so that a batch that is written out in parts never holds all of them. */
  readonly orders: Iterable<OrderText>;
  /** Whether the list ends with this batch. */
  readonly isLast: boolean;
}
