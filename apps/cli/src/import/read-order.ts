import {
  INT64_MAX,
  INT64_MIN,
  isQuantity,
  ORDER_STATUSES,
  type Order,
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
import type { ImportItem } from '@petstore/persistence';
import { FieldReader } from './fields.ts';
import type { RawRecord, RecordShape } from './read-records.ts';

/** The fields that an order in a file may have. */
export const ORDER_FIELDS = ['id', 'petId', 'quantity', 'shipDate', 'complete', 'status'] as const;
export const ORDER_SHAPE: RecordShape = { fields: ORDER_FIELDS, required: ['id', 'petId', 'quantity'] };

export const INT64 = `a whole number from ${INT64_MIN} to ${INT64_MAX}, in digits alone`;
const TIME = 'a date-time with its offset, such as 2026-01-02T03:04:05.678Z';
const QUANTITY = `a whole number from ${QUANTITY_MIN} to ${QUANTITY_MAX}, in digits alone`;

const REFUSALS = {
  quantity_out_of_range: `quantity must be ${QUANTITY}`,
  ship_date_out_of_range: 'shipDate must be of the years 0001 to 9999',
  complete_but_not_shipped: 'an order that is complete has the status shipped and no other',
} as const satisfies Record<RestoreReason, string>;

/** Makes an order of a record, or says which fields are wrong, and what would be right. */
export function readOrder({ line, values }: RawRecord, now: Date): ImportItem<Order> {
  const fields = new FieldReader(values, ORDER_FIELDS);
  const id = fields.required('id', parseInt64, INT64);
  const pet = fields.required('petId', parseInt64, INT64);
  const quantity = fields.required('quantity', parseQuantity, QUANTITY);
  const shipDate = fields.optional('shipDate', parseRfc3339, TIME);
  const complete = fields.optional('complete', parseBoolean, 'true or false') ?? false;
  const status = fields.optional('status', parseStatus, `one of ${ORDER_STATUSES.join(', ')}`);
  if (id === undefined || pet === undefined || quantity === undefined || fields.faults !== undefined) {
    return { line, reason: fields.faults ?? 'not an order' };
  }
  const facts = { id: orderId(id), petId: petId(pet), quantity, complete };
  const decision = restoreOrder({ ...facts, ...(shipDate && { shipDate }), ...(status && { status }) }, now);
  return decision.ok ? { line, value: decision.value } : { line, reason: REFUSALS[decision.reason] };
}

function parseQuantity(text: string): number | undefined {
  const value = Number(parseInt64(text) ?? 0n);
  return isQuantity(value) ? value : undefined;
}

/** Spreadsheets write TRUE and FALSE. */
function parseBoolean(text: string): boolean | undefined {
  const lower = text.toLowerCase();
  return lower === 'true' ? true : lower === 'false' ? false : undefined;
}

const parseStatus = (text: string): OrderStatus | undefined => ORDER_STATUSES.find((status) => status === text);
