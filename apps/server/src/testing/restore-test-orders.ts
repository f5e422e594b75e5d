import { type Order, type OrderStatus, orderId, petId, type RestoreReason, restoreOrder } from '@petstore/domain';
import type { TestOrder } from './test-service-types.ts';

const REASONS = {
  quantity_out_of_range: 'quantity must be a whole number from 1 to 2147483647',
  ship_date_out_of_range: 'shipDate must be in the years 1 to 9999',
  complete_but_not_shipped: 'only an order whose status is shipped can be complete',
} as const satisfies Record<RestoreReason, string>;

/**
 * @param now the time of what became of the orders before
 * @throws RangeError for an order that cannot be
 */
export function restoreTestOrders(orders: readonly TestOrder[], now: Date): readonly Order[] {
  const ids = new Set<bigint>();
  return orders.map((order, index) => {
    const { id, petId: pet = 1n, quantity = 1, complete = false, shipDate, status } = order;
    const restored = restoreOrder(
      {
        id: orderId(id),
        petId: petId(pet),
        quantity,
        complete,
        ...(shipDate && { shipDate }),
        ...(status && { status: status satisfies OrderStatus }),
      },
      now,
    );
    if (!restored.ok) throw new RangeError(`orders[${index}]: ${REASONS[restored.reason]}`);
    if (ids.has(id)) throw new RangeError(`orders[${index}]: id ${id} is that of another order`);
    ids.add(id);
    return restored.value;
  });
}
