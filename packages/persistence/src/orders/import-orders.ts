import { type ChangeOrigin, type Order, SERVICE_ORIGIN } from '@petstore/domain';
import type pg from 'pg';
import type { Database } from '../database/database.ts';
import { type ImportOptions, type ImportResult, type ImportSource, importRows } from '../import-rows.ts';
import { moveOrderIds } from '../sequences.ts';
import { CHANGED_AT, copyRowOf, ORDER_COLUMNS, ORDER_FACTS } from './order-rows.ts';

export interface ImportOrdersOptions extends ImportOptions {
  /** The recorded author and request. @default the service's */
  readonly origin?: ChangeOrigin;
}

/** Creates the temporary table from which orders are inserted into their table. */
export const CREATE_STAGED_ORDERS = `
  create temporary table staged as select 0 as line, ${ORDER_COLUMNS} from orders with no data`;

/**
 * Moves the sequence beyond the ids of the import: orders placed from now on neither wait for it nor use an id that it is
 * about to insert. This takes effect at once, even if the transaction is rolled back.
 */
const MOVE_SEQUENCE = `
  select setval('orders_id_seq', largest.id + 1, false)
  from (select max(id) as id from staged where id < 9007199254740992) as largest, orders_id_seq
  where largest.id >= last_value`;

const INSERT_ORDERS = `insert into orders (${ORDER_COLUMNS}) select ${ORDER_COLUMNS} from staged order by id`;

/** An event gets the latest time of its order. */
const INSERT_EVENTS = `
  insert into order_events (type, at, actor, request_id, order_id, ${ORDER_FACTS})
  select 'order.imported', ${CHANGED_AT}, $1::text, $2::text, ${ORDER_COLUMNS}
  from staged order by id`;

/** See `OrderStore.importOrders`. */
export const importOrders = (
  database: Database,
  orders: ImportSource<Order>,
  { origin, ...options }: ImportOrdersOptions = {},
): Promise<ImportResult> =>
  importRows(
    database,
    {
      table: 'orders',
      createStaged: CREATE_STAGED_ORDERS,
      rowOf: copyRowOf,
      lock: 'orderIds',
      async insertStaged(client) {
        await client.query(MOVE_SEQUENCE);
        const insertedCount = await insertStagedOrders(client, origin);
        await moveOrderIds(client); // beyond ids from 2^53 on, if the sequence has reached them
        return insertedCount;
      },
    },
    orders,
    options,
  );

/**
 * Inserts the orders of the table `staged`, and records them in the event log.
 *
 * @param client in a transaction that ends right afterwards, because readers of the log wait for its end
 * @returns the number of orders
 */
export async function insertStagedOrders(
  client: pg.Client,
  { actor, requestId }: ChangeOrigin = SERVICE_ORIGIN,
): Promise<number> {
  const orders = await client.query(INSERT_ORDERS);
  const events = await client.query(INSERT_EVENTS, [actor, requestId ?? null]);
  if (orders.rowCount !== events.rowCount) {
    throw new Error(
      `PostgreSQL inserted ${orders.rowCount} of ${events.rowCount} orders: does a trigger suppress them?`,
    );
  }
  return orders.rowCount ?? 0;
}
