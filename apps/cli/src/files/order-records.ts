import {
  type Actor,
  definitionOf,
  LISTED_FIELDS,
  type ListedField,
  type Order,
  type OrderRecord,
  type OrderStatus,
  type OrderText,
  type RestoreReason,
  restoreOrder,
  STATUSES_OF_COMPLETE,
} from '@petstore/domain';
import type { ImportItem } from '@petstore/persistence';
import { type ExportKind, jsonArray, lines } from './export.ts';
import { FieldReader } from './fields.ts';
import type { ImportKind } from './import.ts';
import { FIELDS, FILE_KINDS, fieldsThat, parseValueOf } from './order-fields.ts';
import type { RawRecord } from './record.ts';

/** @param actor the recorded author of the import */
export function importOrders(actor: Actor): ImportKind<Order> {
  const now = new Date();
  return {
    shape: { fields: LISTED_FIELDS, required: fieldsThat('always') },
    read: (record) => readOrder(record, now),
    store: ({ persistence }, orders, options) =>
      persistence.orders.importOrders(orders, { ...options, origin: { actor } }),
  };
}

/** Makes an order from a record, or says which fields are wrong, and what would be right. */
function readOrder({ line, values }: RawRecord, now: Date): ImportItem<Order> {
  const fields = new FieldReader(values, LISTED_FIELDS);
  const record: Partial<Record<ListedField, unknown>> = { complete: false };
  for (const name of LISTED_FIELDS) {
    const definition = definitionOf(name);
    const expected = FILE_KINDS[definition.kind].expected(definition);
    const value = fields[FIELDS[name] === 'always' ? 'required' : 'optional'](
      name,
      (text) => parseValueOf(definition, text),
      expected,
    );
    if (value !== undefined) record[name] = value;
  }
  if (fields.faults !== undefined) return { line, reason: fields.faults };
  const decision = restoreOrder(record as OrderRecord, now); // all that it needs was read
  return decision.ok ? { line, value: decision.value } : { line, reason: describe(decision.reason) };
}

const describe = (reason: RestoreReason): string =>
  reason === 'complete_contradicts_status'
    ? `a complete order must have the status ${STATUSES_OF_COMPLETE.join(' or ')}`
    : `${reason} must be ${FILE_KINDS[definitionOf(reason).kind].expected(definitionOf(reason))}`;

/** @param status exports only orders with this status; `undefined`: all orders */
export const exportOrders = (status: OrderStatus | undefined): ExportKind<OrderText> => ({
  async *list({ persistence }) {
    for await (const { orders } of persistence.orders.listOrderTexts(LISTED_FIELDS)) {
      yield [...orders].filter((order) => status === undefined || order.status === status);
    }
  },
  count: ({ persistence }) => persistence.orders.countOrders(status),
  formats: {
    ndjson: lines('', orderToJson),
    csv: lines(`${LISTED_FIELDS.join(',')}\n`, orderToCsv),
    array: jsonArray(orderToJson),
  },
});

const kindOf = (name: ListedField) => FILE_KINDS[definitionOf(name).kind];

/** A value that an order does not have is left out. */
function orderToJson(order: OrderText): string {
  const members = LISTED_FIELDS.flatMap((name) => {
    const text = order[name];
    return text === undefined ? [] : [`"${name}":${kindOf(name).toJson(String(text))}`];
  });
  return `{${members.join()}}`;
}

/** A value that an order does not have is an empty cell. */
const orderToCsv = (order: OrderText): string =>
  LISTED_FIELDS.map((name) => {
    const text = order[name];
    return text === undefined ? '' : kindOf(name).toCsv(String(text), `${name} of order ${order.id}`);
  }).join();

/** An order as a row of a table. @param isForPerson shortens times to minutes */
export const orderRow = (order: OrderText, isForPerson: boolean) =>
  Object.fromEntries(
    LISTED_FIELDS.map((name) => {
      const text = order[name];
      return [name, text === undefined ? null : kindOf(name).toCell(String(text), isForPerson)] as const;
    }),
  );
