import {
  definitionOf,
  describeValueOf,
  type Order,
  orderId,
  petId,
  type RestoreReason,
  restoreOrder,
  STATUSES_OF_COMPLETE,
} from '@petstore/domain';
import type { TestOrder } from './test-service-types.ts';

const describe = (reason: RestoreReason): string =>
  reason === 'complete_contradicts_status'
    ? `only an order whose status is ${STATUSES_OF_COMPLETE.join(' or ')} can be complete`
    : `${reason} must be ${describeValueOf(definitionOf(reason))}`;

/**
 * @param now the time of what became of the orders before
 * @throws RangeError for an order that cannot be
 */
export function restoreTestOrders(orders: readonly TestOrder[], now: Date): readonly Order[] {
  const ids = new Set<bigint>();
  return orders.map((order, index) => {
    const { id, petId: pet = 1n, quantity = 1, complete = false, ...others } = order;
    const restored = restoreOrder({ id: orderId(id), petId: petId(pet), quantity, complete, ...others }, now);
    if (!restored.ok) throw new RangeError(`orders[${index}]: ${describe(restored.reason)}`);
    if (ids.has(id)) throw new RangeError(`orders[${index}]: id ${id} is that of another order`);
    ids.add(id);
    return restored.value;
  });
}
