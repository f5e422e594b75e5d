import {
  INT64_MAX,
  INT64_MIN,
  isQuantity,
  ORDER_STATUSES,
  type Order,
  type OrderRecord,
  type OrderStatus,
  orderId,
  parseInt64,
  parseRfc3339,
  petId,
  QUANTITY_MAX,
  QUANTITY_MIN,
  type RestoreReason,
  restoreOrder,
} from '@petstore/domain';
import { type Field, FieldError, FieldReader, type Fields, textOf } from './fields.ts';
import type { RecordShape } from './read-records.ts';

/** The fields that an order in a file may have. */
export const ORDER_FIELDS = ['id', 'petId', 'quantity', 'shipDate', 'complete', 'status'] as const;
export const ORDER_SHAPE: RecordShape = { fields: ORDER_FIELDS, required: ['id', 'petId', 'quantity'] };

const INT64 = `a whole number from ${INT64_MIN} to ${INT64_MAX}`;
const TIME = 'a date-time with its offset, such as 2026-01-02T03:04:05.678Z';
const QUANTITY = `a whole number from ${QUANTITY_MIN} to ${QUANTITY_MAX}`;

const REFUSALS = {
  quantity_out_of_range: `quantity must be ${QUANTITY}`,
  ship_date_out_of_range: 'shipDate must be of the years 0001 to 9999',
  complete_but_not_shipped: 'an order that is complete has the status shipped and no other',
} as const satisfies Record<RestoreReason, string>;

/**
 * Reads an order.
 *
 * @throws FieldError that says which fields are wrong, and what would be right
 */
export function readOrder(fields: Fields, now: Date): Order {
  const reader = new FieldReader(fields, ORDER_FIELDS);
  const id = reader.required('id', readInt64, INT64);
  const pet = reader.required('petId', readInt64, INT64);
  const quantity = reader.required('quantity', readQuantity, QUANTITY);
  const shipDate = reader.optional('shipDate', readTime, TIME);
  const complete = reader.optional('complete', readBoolean, 'true or false') ?? false;
  const status = reader.optional('status', readStatus, `one of ${ORDER_STATUSES.join(', ')}`);
  if (id === undefined || pet === undefined || quantity === undefined || reader.isFaulty) throw reader.error;
  const record: OrderRecord = {
    id: orderId(id),
    petId: petId(pet),
    quantity,
    complete,
    ...(shipDate && { shipDate }),
    ...(status && { status }),
  };
  const decision = restoreOrder(record, now);
  if (!decision.ok) throw new FieldError(REFUSALS[decision.reason]);
  return decision.value;
}

export const readInt64 = (field: Field): bigint | undefined => {
  const text = textOf(field, 'number');
  return text === undefined ? undefined : parseInt64(text);
};

function readQuantity(field: Field): number | undefined {
  const value = Number(readInt64(field) ?? 0n);
  return isQuantity(value) ? value : undefined;
}

function readTime(field: Field): Date | undefined {
  const text = textOf(field, 'text');
  return text === undefined ? undefined : parseRfc3339(text);
}

/** Spreadsheets write TRUE and FALSE. */
function readBoolean(field: Field): boolean | undefined {
  const text = textOf(field, 'boolean')?.toLowerCase();
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

function readStatus(field: Field): OrderStatus | undefined {
  const text = textOf(field, 'text');
  return ORDER_STATUSES.find((status) => status === text);
}
