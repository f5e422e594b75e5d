import {
  type CancelledOrder,
  type CompletedOrder,
  type Order,
  type PendingOrder,
  QUANTITY_MAX,
  QUANTITY_MIN,
  SHIP_DATE_MAX,
  SHIP_DATE_MIN,
  type ShippedOrder,
} from './order.ts';

/** What may be asked of an order that was placed. */
export type OrderCommand = 'cancel' | 'ship' | 'complete';

/** Why an order stays as it is. */
export type OrderRefusal =
  | 'order_not_found'
  | 'order_already_shipped'
  | 'order_already_cancelled'
  | 'order_not_shipped'
  | 'order_already_completed';

export type Decision<Value, Refusal extends string> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly refusal: Refusal };

export const accept = <Value>(value: Value) => ({ ok: true, value }) as const;
export const refuse = <Refusal extends string>(refusal: Refusal) => ({ ok: false, refusal }) as const;

/**
 * Decides what becomes of an order: the order after the command, or the reason why it stays as it is.
 *
 * @param order the order, or `undefined` where there is none with that id
 * @param now the time that the transition is stamped with
 */
export function decideOrder(order: Order | undefined, command: OrderCommand, now: Date): Decision<Order, OrderRefusal> {
  if (order === undefined) return refuse('order_not_found');
  switch (command) {
    case 'cancel':
      return cancelOrder(order, now);
    case 'ship':
      return shipOrder(order, now);
    case 'complete':
      return completeOrder(order, now);
    default:
      return command satisfies never;
  }
}

function cancelOrder(order: Order, now: Date): Decision<CancelledOrder, OrderRefusal> {
  switch (order.status) {
    case 'pending':
      return accept({ ...order, status: 'cancelled', cancelledAt: now });
    case 'shipped':
      return refuse('order_already_shipped');
    case 'cancelled':
      return refuse('order_already_cancelled');
    default:
      return order satisfies never;
  }
}

function shipOrder(order: Order, now: Date): Decision<ShippedOrder, OrderRefusal> {
  switch (order.status) {
    case 'pending':
      return accept({ ...order, status: 'shipped', shippedAt: now });
    case 'shipped':
      return refuse('order_already_shipped');
    case 'cancelled':
      return refuse('order_already_cancelled');
    default:
      return order satisfies never;
  }
}

function completeOrder(order: Order, now: Date): Decision<CompletedOrder, OrderRefusal> {
  switch (order.status) {
    case 'pending':
      return refuse('order_not_shipped');
    case 'shipped':
      return order.complete
        ? refuse('order_already_completed')
        : accept({ ...order, complete: true, completedAt: now });
    case 'cancelled':
      return refuse('order_already_cancelled');
    default:
      return order satisfies never;
  }
}

/** What a customer asks for. */
export interface OrderRequest extends Pick<PendingOrder, 'petId' | 'quantity' | 'shipDate'> {}

/** A pending order that awaits its id, which the store of orders gives. */
export type NewOrder = Omit<PendingOrder, 'id'>;

/** Why an order cannot be placed as asked. */
export type PlaceRefusal = 'quantity_out_of_range' | 'ship_date_out_of_range';

/** Decides whether an order may be placed, and how it begins. */
export function placeOrder(request: OrderRequest, now: Date): Decision<NewOrder, PlaceRefusal> {
  if (!isQuantity(request.quantity)) return refuse('quantity_out_of_range');
  if (request.shipDate !== undefined && !isShipDate(request.shipDate)) return refuse('ship_date_out_of_range');
  return accept({ ...request, status: 'pending', complete: false, placedAt: now });
}

/** Whether a number of units can be ordered: a whole number from {@link QUANTITY_MIN} to {@link QUANTITY_MAX}. */
export const isQuantity = (value: number): boolean =>
  Number.isInteger(value) && value >= QUANTITY_MIN && value <= QUANTITY_MAX;

/** Whether a moment can be a ship date: from {@link SHIP_DATE_MIN} to {@link SHIP_DATE_MAX}. */
export const isShipDate = (value: Date): boolean => value >= SHIP_DATE_MIN && value <= SHIP_DATE_MAX;
