import type { Order, OrderId, OrderStatus, PetId } from '@petstore/domain';
import { parseTime } from '../time-text.ts';

/** The columns of a whole order, in the order in which every statement here selects them. */
export type OrderRow = readonly [
  id: string,
  petId: string,
  quantity: string,
  shipDate: string | null,
  status: OrderStatus,
  complete: 't' | 'f',
  placedAt: string,
  shippedAt: string | null,
  completedAt: string | null,
  cancelledAt: string | null,
];

/**
 * Makes an order from a row, whose values are null or empty if the order has no such field. The types and constraints of
 * the table refuse every row that the type of an order cannot express.
 */
export function orderOfRow(row: OrderRow): Order {
  const [id, petId, quantity, shipDate, status, complete, placedAt, shippedAt, completedAt, cancelledAt] = row;
  const order = {
    id: BigInt(id) as OrderId,
    petId: BigInt(petId) as PetId,
    quantity: Number(quantity),
    placedAt: parseTime(placedAt),
    status,
    complete: complete === 't',
    ...(shipDate && { shipDate: parseTime(shipDate) }),
    ...(shippedAt && { shippedAt: parseTime(shippedAt) }),
    ...(completedAt && { completedAt: parseTime(completedAt) }),
    ...(cancelledAt && { cancelledAt: parseTime(cancelledAt) }),
  };
  return order as Order; // guaranteed by the table
}
