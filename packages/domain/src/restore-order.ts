import { accept, type Decision, isQuantity, isShipDate, refuse } from './decide-order.ts';
import type { Order, OrderStatus } from './order.ts';

/** An order as another system tells of it: the documented fields and, where known, its status. */
export interface OrderRecord extends Pick<Order, 'id' | 'petId' | 'quantity' | 'shipDate'> {
  readonly complete: boolean;
  readonly status?: OrderStatus;
}

export type RestoreRefusal = 'quantity_out_of_range' | 'ship_date_out_of_range' | 'complete_but_not_shipped';

/**
 * Decides which state an imported order is in. Without a status `complete` means shipped, else the order is pending.
 *
 * @param now stamped on whatever happened to the order elsewhere, because its own times are not part of the record
 */
export function restoreOrder(record: OrderRecord, now: Date): Decision<Order, RestoreRefusal> {
  if (!isQuantity(record.quantity)) return refuse('quantity_out_of_range');
  if (record.shipDate !== undefined && !isShipDate(record.shipDate)) return refuse('ship_date_out_of_range');
  const { complete, status = complete ? 'shipped' : 'pending', ...rest } = record;
  const facts = { ...rest, placedAt: now };
  if (complete && status !== 'shipped') return refuse('complete_but_not_shipped');
  switch (status) {
    case 'pending':
      return accept({ ...facts, status, complete: false });
    case 'cancelled':
      return accept({ ...facts, status, complete: false, cancelledAt: now });
    case 'shipped':
      return accept(
        complete
          ? { ...facts, status, complete, shippedAt: now, completedAt: now }
          : { ...facts, status, complete: false, shippedAt: now },
      );
    default:
      return status satisfies never;
  }
}
