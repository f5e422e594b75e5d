import { isQuantity, isShipDate, type Order, type PendingOrder } from './order.ts';
import type { OrderEventType } from './order-event.ts';
import { err, ok, type Result } from './result.ts';

/** The changes that can be made to a placed order. */
export type OrderCommand = 'cancel' | 'ship' | 'complete';

/** The full state of an order: `complete` is a fact about a shipped order. */
type OrderState = Pick<Order, 'status' | 'complete'>;

interface Transition {
  /** The only state to which the command applies. */
  readonly from: OrderState;
  readonly to: OrderState;
  /** The field that records the time of the transition. */
  readonly stamp: 'cancelledAt' | 'shippedAt' | 'completedAt';
  /** The field with the time of the previous transition. An order's times never go back, even if servers' clocks differ. */
  readonly after: 'placedAt' | 'shippedAt';
  /** The name of the transition in the event log. */
  readonly event: OrderEventType;
}

/** Every possible change of an order. The statement of storage is made from this table, and a test compares the two. */
export const ORDER_TRANSITIONS = {
  cancel: {
    from: { status: 'pending', complete: false },
    to: { status: 'cancelled', complete: false },
    stamp: 'cancelledAt',
    after: 'placedAt',
    event: 'order.cancelled',
  },
  ship: {
    from: { status: 'pending', complete: false },
    to: { status: 'shipped', complete: false },
    stamp: 'shippedAt',
    after: 'placedAt',
    event: 'order.shipped',
  },
  complete: {
    from: { status: 'shipped', complete: false },
    to: { status: 'shipped', complete: true },
    stamp: 'completedAt',
    after: 'shippedAt',
    event: 'order.completed',
  },
} as const satisfies Record<OrderCommand, Transition>;

/** Why a command does not apply to an order. */
export type CommandReason =
  | 'order_not_found'
  | 'order_already_shipped'
  | 'order_already_cancelled'
  | 'order_not_shipped'
  | 'order_already_completed';

/**
 * Applies a command to an order: returns the changed order, or the reason why the command does not apply.
 *
 * @param order `undefined` if no order has the requested id
 * @param now the time of the transition, unless the previous transition is later by another server's clock
 */
export function decideOrder(order: Order | undefined, command: OrderCommand, now: Date): Result<Order, CommandReason> {
  if (order === undefined) return err('order_not_found');
  const { from, to, stamp, after } = ORDER_TRANSITIONS[command];
  if (order.status !== from.status || order.complete !== from.complete) return err(reasonAgainst(order, command));
  const before = after === 'shippedAt' && order.status === 'shipped' ? order.shippedAt : order.placedAt;
  return ok({ ...order, ...to, [stamp]: before > now ? before : now } as Order); // each transition sets what its state has
}

function reasonAgainst(order: Order, command: OrderCommand): CommandReason {
  switch (order.status) {
    case 'pending':
      return 'order_not_shipped';
    case 'shipped':
      return command === 'complete' ? 'order_already_completed' : 'order_already_shipped';
    case 'cancelled':
      return 'order_already_cancelled';
    default:
      return order satisfies never;
  }
}

/** What a customer orders. */
export interface OrderRequest extends Pick<PendingOrder, 'petId' | 'quantity' | 'shipDate'> {}

/** A pending order that the store has not yet given an id. */
export type NewOrder = Omit<PendingOrder, 'id'>;

/** Why an order cannot be placed. */
export type PlacementReason = 'quantity_out_of_range' | 'ship_date_out_of_range';

/** Decides whether an order may be placed, and returns its initial state. */
export function placeOrder(request: OrderRequest, now: Date): Result<NewOrder, PlacementReason> {
  if (!isQuantity(request.quantity)) return err('quantity_out_of_range');
  if (request.shipDate !== undefined && !isShipDate(request.shipDate)) return err('ship_date_out_of_range');
  return ok({ ...request, status: 'pending', complete: false, placedAt: now });
}
