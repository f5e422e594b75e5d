import { orderWithStatusJson } from '@petstore/api/order-json';
import {
  type Actor,
  isQuantity,
  ORDER_STATUSES,
  type Order,
  type OrderStatus,
  type OrderText,
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
import { type ExportKind, jsonArray, lines } from './export.ts';
import { FieldReader, INT64 } from './fields.ts';
import type { ImportKind } from './import.ts';
import type { RawRecord } from './record.ts';

/** The fields that an order in a file may have. */
const FIELDS = ['id', 'petId', 'quantity', 'shipDate', 'complete', 'status'] as const;

/** @param actor the recorded author of the import */
export function importOrders(actor: Actor): ImportKind<Order> {
  const now = new Date();
  return {
    shape: { fields: FIELDS, required: ['id', 'petId', 'quantity'] },
    read: (record) => readOrder(record, now),
    store: ({ persistence }, orders, options) =>
      persistence.orders.importOrders(orders, { ...options, origin: { actor } }),
  };
}

const TIME = 'a date-time with its offset, such as 2026-01-02T03:04:05.678Z';
const QUANTITY = `a whole number from ${QUANTITY_MIN} to ${QUANTITY_MAX}, in plain digits`;

const REFUSALS: Readonly<Record<RestoreReason, string>> = {
  quantity_out_of_range: `quantity must be ${QUANTITY}`,
  ship_date_out_of_range: 'shipDate must be in the years 0001 to 9999',
  complete_but_not_shipped: 'a complete order must have the status shipped',
};

/** Makes an order from a record, or says which fields are wrong, and what would be right. */
function readOrder({ line, values }: RawRecord, now: Date): ImportItem<Order> {
  const fields = new FieldReader(values, FIELDS);
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

/** @param status exports only orders with this status; `undefined`: all orders */
export const exportOrders = (status: OrderStatus | undefined): ExportKind<OrderText> => ({
  async *list({ persistence }) {
    for await (const { orders } of persistence.orders.listOrderTexts()) {
      yield [...orders].filter((order) => status === undefined || order.status === status);
    }
  },
  count: ({ persistence }) => persistence.orders.countOrders(status),
  formats: {
    ndjson: lines('', orderWithStatusJson),
    csv: lines(`${FIELDS.join(',')}\n`, orderToCsv),
    array: jsonArray(orderWithStatusJson),
  },
});

/** No value of an order needs quotes. */
const orderToCsv = ({ id, petId, quantity, shipDate, complete, status }: OrderText): string =>
  `${id},${petId},${quantity},${shipDate ?? ''},${complete},${status}`;

/** An order as a row of a table. @param isForPerson shortens the ship date to minutes */
export const orderRow = (order: OrderText, isForPerson: boolean) => ({
  id: BigInt(order.id),
  petId: BigInt(order.petId),
  quantity: Number(order.quantity),
  shipDate:
    (isForPerson ? order.shipDate?.slice(0, 'YYYY-MM-DDThh:mm'.length).replace('T', ' ') : order.shipDate) ?? null,
  complete: order.complete ? 'yes' : 'no',
  status: order.status,
});
