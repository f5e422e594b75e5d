import { isQuantity, isShipDate, type Order, type OrderStatus } from './order.ts';
import { err, ok, type Result } from './result.ts';

/** An order as another system exported it: the documented fields and, if known, its status. */
export interface OrderRecord extends Pick<Order, 'id' | 'petId' | 'quantity' | 'shipDate'> {
  readonly complete: boolean;
  readonly status?: OrderStatus;
}

export type RestoreReason = 'quantity_out_of_range' | 'ship_date_out_of_range' | 'complete_but_not_shipped';

/**
 * Decides the state of an imported order. Without a status, it is shipped if it is `complete`, and otherwise pending.
 *
 * @param now the time of all earlier transitions of the order, because the record does not hold them
 */
export function restoreOrder(record: OrderRecord, now: Date): Result<Order, RestoreReason> {
  if (!isQuantity(record.quantity)) return err('quantity_out_of_range');
  if (record.shipDate !== undefined && !isShipDate(record.shipDate)) return err('ship_date_out_of_range');
  const { id, petId, quantity, shipDate, complete, status = complete ? 'shipped' : 'pending' } = record;
  const facts = { id, petId, quantity, placedAt: now, ...(shipDate && { shipDate }) };
  if (complete && status !== 'shipped') return err('complete_but_not_shipped');
  switch (status) {
    case 'pending':
      return ok({ ...facts, status, complete: false });
    case 'cancelled':
      return ok({ ...facts, status, complete: false, cancelledAt: now });
    case 'shipped':
      return ok(
        complete
          ? { ...facts, status, complete, shippedAt: now, completedAt: now }
          : { ...facts, status, complete: false, shippedAt: now },
      );
    default:
      return status satisfies never;
  }
}
