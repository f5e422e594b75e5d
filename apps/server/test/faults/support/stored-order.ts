import type { Order, OrderEventType, OrderStatus } from '@petstore/domain';
import pg from 'pg';

/** Every column of an order, in one order. */
export interface StoredOrder {
  readonly id: bigint;
  readonly petId: bigint;
  readonly quantity: number;
  readonly shipDate: Date | undefined;
  readonly status: OrderStatus;
  readonly complete: boolean;
  readonly placedAt: Date;
  readonly shippedAt: Date | undefined;
  readonly completedAt: Date | undefined;
  readonly cancelledAt: Date | undefined;
}

/** An event as a consumer received it, or as the log holds it. */
export interface RecordedEvent {
  readonly id: bigint;
  readonly type: OrderEventType;
  readonly order: StoredOrder;
}

export const storedOrderOf = (order: Order): StoredOrder => ({
  id: order.id,
  petId: order.petId,
  quantity: order.quantity,
  shipDate: order.shipDate,
  status: order.status,
  complete: order.complete,
  placedAt: order.placedAt,
  shippedAt: order.status === 'shipped' ? order.shippedAt : undefined,
  completedAt: order.complete ? order.completedAt : undefined,
  cancelledAt: order.status === 'cancelled' ? order.cancelledAt : undefined,
});

const COLUMNS = 'pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at';

export interface Stored {
  readonly log: readonly RecordedEvent[];
  readonly orders: readonly StoredOrder[];
}

/** What PostgreSQL holds, not by the statements that are tested. */
export async function readStored(url: string): Promise<Stored> {
  const events = await query(url, `select id, type, order_id, ${COLUMNS} from order_events order by id`);
  const orders = await query(url, `select id as order_id, ${COLUMNS} from orders order by id`);
  const log = events.map((row) => ({
    id: BigInt(String(row['id'])),
    type: row['type'] as OrderEventType, // by its constraint
    order: storedOrderOfRow(row),
  }));
  return { log, orders: orders.map(storedOrderOfRow) };
}

function storedOrderOfRow(row: Record<string, unknown>): StoredOrder {
  const time = (name: string) => (row[name] ?? undefined) as Date | undefined; // as pg reads them
  return {
    id: BigInt(String(row['order_id'])),
    petId: BigInt(String(row['pet_id'])),
    quantity: Number(row['quantity']),
    shipDate: time('ship_date'),
    status: row['status'] as OrderStatus, // by its constraint
    complete: row['complete'] === true,
    placedAt: row['placed_at'] as Date, // it is never null
    shippedAt: time('shipped_at'),
    completedAt: time('completed_at'),
    cancelledAt: time('cancelled_at'),
  };
}

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
