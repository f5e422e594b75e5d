import type { Order, OrderField, OrderId, OrderStatus, PetId } from '@petstore/domain';

/** The column of each field of an order. */
export const COLUMN_OF_FIELD = {
  id: 'id',
  petId: 'pet_id',
  quantity: 'quantity',
  shipDate: 'ship_date',
  status: 'status',
  complete: 'complete',
  placedAt: 'placed_at',
  shippedAt: 'shipped_at',
  completedAt: 'completed_at',
  cancelledAt: 'cancelled_at',
} as const satisfies Record<OrderField, string>;

/** The columns of a whole order, in the order of {@link OrderRow}. */
export const ORDER_COLUMNS = Object.values(COLUMN_OF_FIELD).join(', ');

/** What there is of an order besides its id: the same columns in every table that holds orders. */
export const FACT_COLUMNS = Object.values(COLUMN_OF_FIELD).slice(1).join(', ');

/** The columns of a whole order in a table that refers to orders by `order_id`, in the order of {@link OrderRow}. */
export const REFERRED_ORDER_COLUMNS = `order_id, ${FACT_COLUMNS}`;

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
 * Makes an order of a row, whose values are null or empty where the order has no such field. The types and constraints of
 * the table's columns refuse every row that an order's type cannot express.
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
  return order as Order; // see above
}

/**
 * Parses the text of a `timestamptz(3)` of the years 0001 to 9999, as PostgreSQL writes it in the style ISO and the zone
 * UTC: `2026-01-02 03:04:05.6+00`, with no decimals to three of them.
 */
export function parseTime(text: string): Date {
  const time = new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`);
  if (text.endsWith('+00') && !Number.isNaN(time.getTime())) return time;
  throw notATime(text);
}

/** The session has another time zone or style, or the column another type: no time is guessed. */
export const notATime = (text: string): Error => new Error(`not a time as this schema stores it: ${text}`);
