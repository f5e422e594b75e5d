import type { Brand } from './ids.ts';
import { type Flat, ORDER_TIME_FIELDS, type OrderFacts, type OrderRequest, requestedValuesOf } from './order-fields.ts';
import { type COMPLETION_TIME, ORDER_STATES, type OrderStampField, type OrderStatus } from './order-states.ts';

/** Seeds of generated orders are whole numbers from 0 to this. */
export const GENERATION_SEED_MAX = 2_147_483_647;

type States = typeof ORDER_STATES;

type OrderIn<Status extends OrderStatus, Complete extends boolean> = Flat<
  OrderFacts & { readonly status: Status; readonly complete: Complete } & Readonly<
      Record<States[Status]['times'][number] | (Complete extends true ? typeof COMPLETION_TIME : never), Date>
    >
>;

/** One type for each value of `complete` that the state allows. */
type OrdersIn<Status extends OrderStatus> = {
  no: OrderIn<Status, false>;
  yes: OrderIn<Status, true>;
  either: OrderIn<Status, false> | OrderIn<Status, true>;
}[States[Status]['complete']];

/** An order in one of its states: it has the fields of {@link ORDER_STATES}, and no others. */
export type Order = { readonly [Status in OrderStatus]: OrdersIn<Status> }[OrderStatus];

/** An order that was placed. It may still be shipped or cancelled. */
export type PendingOrder = Extract<Order, { readonly status: 'pending' }>;

/** A status that a newer release has stored, and this one does not know. */
export type UnknownStatus = Brand<string, 'UnknownStatus'>;

/**
 * An order in a state that only a newer release knows. It can be listed, and no rule applies to it: a command on it has to
 * wait until this release has been replaced.
 */
export type UnknownOrder = Flat<OrderFacts & { readonly status: UnknownStatus; readonly complete: boolean }>;

/** An order as a store has it, in which servers of a newer release may have changed it. */
export type StoredOrder = Order | UnknownOrder;

export const isKnownStatus = (status: string): status is OrderStatus => Object.hasOwn(ORDER_STATES, status);

export const isKnownOrder = (order: StoredOrder): order is Order => isKnownStatus(order.status);

/** When an order was last changed, or was placed. */
export const changedAt = (order: Order): Date => new Date(Math.max(...timesOf(order)));

/** All times that an order has, in milliseconds since 1970. */
const timesOf = (order: Order & { readonly [Name in OrderStampField]?: Date }): readonly number[] =>
  ORDER_TIME_FIELDS.flatMap((name) => order[name]?.getTime() ?? []);

/**
 * A text that two requests share if and only if they ask for the same order. A field that a request leaves out adds nothing:
 * the texts of earlier requests stay what they are when an order gets another optional field.
 */
export const fingerprintOf = (request: OrderRequest): string =>
  JSON.stringify(requestedValuesOf(request), (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
