import {
  definitionOf,
  type OptionalOrderField,
  ORDER_FIELD_NAMES,
  type OrderEventType,
  type OrderField,
  type OrderValue,
  type StoredOrder,
} from '@petstore/domain';
import pg from 'pg';

/** Every field of an order; `undefined` where it has none. */
export type WholeOrder = {
  readonly [Name in OrderField]: OrderValue<Name> | (Name extends OptionalOrderField ? undefined : never);
};

/** An event as a consumer received it, or as the log holds it. */
export interface RecordedEvent {
  readonly id: bigint;
  readonly type: OrderEventType;
  readonly order: WholeOrder;
}

export const wholeOrderOf = (order: StoredOrder): WholeOrder => fromFields((name) => Reflect.get(order, name));

const fromFields = (valueAt: (name: OrderField) => unknown): WholeOrder =>
  Object.fromEntries(ORDER_FIELD_NAMES.map((name) => [name, valueAt(name)])) as WholeOrder; // of every field

/** `petId` is in `pet_id`. */
const columnOf = (name: OrderField) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const COLUMNS = ORDER_FIELD_NAMES.filter((name) => name !== 'id')
  .map(columnOf)
  .join(', ');

export interface Stored {
  readonly log: readonly RecordedEvent[];
  readonly orders: readonly WholeOrder[];
}

/** What PostgreSQL holds, not by the statements that are tested. */
export async function readStored(url: string): Promise<Stored> {
  const events = await query(url, `select id, type, order_id, ${COLUMNS} from order_events order by id`);
  const orders = await query(url, `select id as order_id, ${COLUMNS} from orders order by id`);
  const log = events.map((row) => ({
    id: BigInt(String(row['id'])),
    type: row['type'] as OrderEventType, // by its constraint
    order: wholeOrderOfRow(row),
  }));
  return { log, orders: orders.map(wholeOrderOfRow) };
}

const wholeOrderOfRow = (row: Record<string, unknown>): WholeOrder =>
  fromFields((name) => {
    const value = row[name === 'id' ? 'order_id' : columnOf(name)] ?? undefined;
    return definitionOf(name).kind === 'int64' ? BigInt(String(value)) : value;
  });

/** Runs a statement on a connection of its own. */
export async function query(url: string, sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql, values)).rows;
  } finally {
    await client.end();
  }
}
