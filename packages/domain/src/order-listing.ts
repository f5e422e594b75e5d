import type { Order, StoredOrder, UnknownStatus } from './order.ts';
import { LISTED_FIELDS, type ListedField, type OptionalOrderField, type OrderValue } from './order-fields.ts';
import type { OrderStatus } from './order-states.ts';

/** A boolean stays one; all others are text. */
type TextOf<Name extends ListedField> = Name extends 'status'
  ? OrderStatus | UnknownStatus
  : OrderValue<Name> extends boolean
    ? boolean
    : string;

/**
 * An order as text, never converted to a bigint, number or Date: lists of millions are written out as they were read.
 * Integers are decimal digits, and times RFC 3339 in UTC with milliseconds, such as `2026-01-02T03:04:05.678Z`.
 *
 * @typeParam Name the fields that it has: all that lists can show by default
 */
export type OrderText<Name extends ListedField = ListedField> = {
  readonly [Each in Name]: TextOf<Each> | (Each extends OptionalOrderField ? undefined : never);
};

/** Makes the text of an order that is in memory. */
export const orderTextOf = (order: Order): OrderText =>
  Object.fromEntries(LISTED_FIELDS.map((name) => [name, textOf(order[name])])) as OrderText; // of every field

const textOf = (value: unknown): unknown =>
  value instanceof Date ? value.toISOString() : typeof value === 'boolean' ? value : value?.toString();

/** A part of a list. Only the last batch can be empty; it may also be the only one. */
export interface OrderBatch<Orders extends Iterable<unknown> = readonly StoredOrder[]> {
  readonly orders: Orders;
  /** Whether this is the last batch of the list. */
  readonly isLast: boolean;
}

/** Each order is made when the iteration reaches it: a batch that is written in parts never holds all of them. */
export type OrderTextBatch<Name extends ListedField = ListedField> = OrderBatch<Iterable<OrderText<Name>>>;
