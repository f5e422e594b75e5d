import type { OrderField } from '@petstore/domain';

/** The column of each field, in every table that keeps orders; events and idempotency keys call the id `order_id`. */
export const COLUMN_OF_FIELD = {
  id: 'id',
  petId: 'pet_id',
  quantity: 'quantity',
  shipDate: 'ship_date',
  complete: 'complete',
  status: 'status',
  placedAt: 'placed_at',
  shippedAt: 'shipped_at',
  completedAt: 'completed_at',
  cancelledAt: 'cancelled_at',
} as const satisfies Record<OrderField, string>;

type OrderColumn = (typeof COLUMN_OF_FIELD)[OrderField];

export const columnsOf = (names: readonly OrderField[]): readonly OrderColumn[] =>
  names.map((name) => COLUMN_OF_FIELD[name]);
