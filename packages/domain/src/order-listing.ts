import type { Order } from './order.ts';

/** The fields of an order in any state. */
export type OrderField =
  | 'id'
  | 'petId'
  | 'quantity'
  | 'shipDate'
  | 'status'
  | 'complete'
  | 'placedAt'
  | 'shippedAt'
  | 'completedAt'
  | 'cancelledAt';

/**
 * The fields of one order as ASCII text. Each is copied once, in the order of {@link OrderFormat.fields}.
 *
 * Every method returns the offset behind what it wrote: the given offset where the order has no such field.
 */
export interface OrderFieldReader {
  /** Copies an integer (decimal digits: at most 20 bytes, a quantity 10) or a status (its name: at most 9). */
  copyText(out: Uint8Array, offset: number): number;
  /** Copies a time as RFC 3339 writes it in UTC: 24 characters, with milliseconds and `Z`. */
  copyTime(out: Uint8Array, offset: number): number;
  /** Copies a boolean, as `true` or `false`. */
  copyBoolean(out: Uint8Array, offset: number): number;
}

/** Collects the orders of one batch. */
export interface OrderSink<Batch> {
  add(fields: OrderFieldReader): void;
  /**
   * @param isLast whether the listing ends with this batch
   * @returns `undefined` where there is nothing to hand on
   */
  finish(isLast: boolean): Batch | undefined;
}

/** A form in which a listing gives its orders without making an object of any of them. */
export interface OrderFormat<Batch> {
  /** Unique among all formats, in lower case. */
  readonly name: string;
  /** The fields that the form holds. */
  readonly fields: readonly ['id', ...OrderField[]];
  /**
   * Begins a batch.
   *
   * @param maxOrders how many orders come at most
   * @param isFirst whether the listing begins with this batch
   */
  createSink(maxOrders: number, isFirst: boolean): OrderSink<Batch>;
}

/**
 * All orders that were committed when the listing began, once each, ascending by id, in batches. Each iteration, and each
 * call of `as`, is a listing of its own. No connection is held between two batches.
 */
export interface OrderListing extends AsyncIterable<readonly Order[]> {
  /** The same orders in another form. */
  as<Batch>(format: OrderFormat<Batch>): AsyncIterable<Batch>;
}
