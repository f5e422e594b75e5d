import { type Order, type OrderStatus, orderId, petId } from '@petstore/domain';
import { parseTime } from './time-text.ts';

/** The columns of a whole order, in the order of {@link OrderRow}. */
export const ORDER_COLUMNS =
  'id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at';

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

/** Makes an order of a row. The table's constraints refuse every row that the union cannot express. */
export function orderOfRow(row: OrderRow): Order {
  const [id, pet, quantity, shipDate, status, complete, placedAt, shippedAt, completedAt, cancelledAt] = row;
  const order = {
    id: orderId(BigInt(id)),
    petId: petId(BigInt(pet)),
    quantity: Number(quantity),
    placedAt: parseTime(placedAt),
    status,
    complete: complete === 't',
    ...(shipDate !== null && { shipDate: parseTime(shipDate) }),
    ...(shippedAt !== null && { shippedAt: parseTime(shippedAt) }),
    ...(completedAt !== null && { completedAt: parseTime(completedAt) }),
    ...(cancelledAt !== null && { cancelledAt: parseTime(cancelledAt) }),
  };
  return order as Order; // see above
}
