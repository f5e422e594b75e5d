import type { Order } from './order.ts';
import { findInvalidField, type OrderValues, type RequestedField, requestedValuesOf } from './order-fields.ts';
import { isOrderState, ORDER_STATUSES, type OrderStatus, timesOfState } from './order-states.ts';
import { err, ok, type Result } from './result.ts';

/** An order as another system exported it: what was asked for, and, if known, its status. */
export interface OrderRecord extends OrderValues<'id' | RequestedField | 'complete'> {
  readonly status?: OrderStatus;
}

/** The statuses that complete orders may have. */
export const STATUSES_OF_COMPLETE: readonly OrderStatus[] = ORDER_STATUSES.filter((status) =>
  isOrderState({ status, complete: true }),
);

/** The field to blame, or that orders with this status are never complete, or always. */
export type RestoreReason = RequestedField | 'complete_contradicts_status';

/**
 * Decides the state of an imported order. Without a status, it is shipped if it is `complete`, and otherwise pending.
 *
 * @param now the time of all earlier transitions of the order, because the record does not hold them
 */
export function restoreOrder(record: OrderRecord, now: Date): Result<Order, RestoreReason> {
  const { id, complete, status = complete ? 'shipped' : 'pending' } = record;
  const invalid = findInvalidField(record);
  if (invalid !== undefined) return err(invalid);
  const state = { status, complete };
  if (!isOrderState(state)) return err('complete_contradicts_status');
  const times = timesOfState(state).map((name) => [name, now]);
  const order = { id, ...requestedValuesOf(record), ...state, placedAt: now, ...Object.fromEntries(times) };
  return ok(order as Order); // with the times of its state
}
