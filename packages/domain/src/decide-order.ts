import { changedAt, type Order, type PendingOrder } from './order.ts';
import { findInvalidField, type OrderRequest, type RequestedField, requestedValuesOf } from './order-fields.ts';
import {
  ORDER_STATES,
  ORDER_TRANSITIONS,
  type OrderCommand,
  type OrderState,
  type OrderStatus,
} from './order-states.ts';
import { err, ok, type Result } from './result.ts';

/** Why a command does not apply to an order. */
export type CommandReason =
  | 'order_not_found'
  | 'order_already_completed'
  | (typeof ORDER_STATES)[OrderStatus]['refusal'];

/**
 * Applies a command to an order: returns the changed order, or the reason why the command does not apply.
 *
 * @param order `undefined` if no order has the requested id
 * @param now the time of the transition, unless the order has a later time by another server's clock: an order's times
 *   never go back
 */
export function decideOrder(order: Order | undefined, command: OrderCommand, now: Date): Result<Order, CommandReason> {
  if (order === undefined) return err('order_not_found');
  const { from, to, stamp } = ORDER_TRANSITIONS[command];
  const { status, complete } = order;
  if (!from.some((state) => state.status === status && state.complete === complete)) {
    return err(reasonAgainst(order, to));
  }
  const before = changedAt(order);
  return ok({ ...order, ...to, [stamp]: before > now ? before : now } as Order); // each transition sets what its state has
}

function reasonAgainst(order: Order, to: Partial<OrderState>): CommandReason {
  if (order.status === to.status && order.complete && to.complete === true) return 'order_already_completed';
  return ORDER_STATES[order.status].refusal;
}

/** A pending order that the store has not yet given an id. */
export type NewOrder = Omit<PendingOrder, 'id'>;

/** Decides whether an order may be placed, and returns its initial state. The reason against it is the field to blame. */
export function decidePlacement(request: OrderRequest, now: Date): Result<NewOrder, RequestedField> {
  const invalid = findInvalidField(request);
  if (invalid !== undefined) return err(invalid);
  return ok({ ...requestedValuesOf(request), status: 'pending', complete: false, placedAt: now });
}
