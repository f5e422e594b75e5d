import type { Order, OrderRepository, OrderStatus } from '@petstore/domain';
import type { Database } from '../database/database.ts';
import type { DatabaseServers } from '../database/servers.ts';
import { prepareStatement } from '../database/statement.ts';
import { TOO_LATE } from '../database/storage-error.ts';
import { withTimeout } from '../database/with-timeout.ts';
import type { ImportResult, ImportSource } from '../import-rows.ts';
import { withLongSession } from '../long-session.ts';
import { findOrders } from './find-orders.ts';
import { type GenerateOptions, generateOrders } from './generate-orders.ts';
import { type ImportOrdersOptions, importOrders } from './import-orders.ts';
import { createOrderLists } from './list-orders.ts';
import { OrderCommands } from './order-commands.ts';
import { type OrderRow, orderOfRow } from './order-rows.ts';
import { placeOrder } from './place-order.ts';

export interface OrderStore extends OrderRepository {
  /** Counts all orders, or those with a status. It may take seconds. */
  countOrders(status?: OrderStatus): Promise<number>;
  /**
   * Imports orders with the ids that they already have.
   *
   * @throws any error of the source; nothing is imported then
   */
  importOrders(orders: ImportSource<Order>, options?: ImportOrdersOptions): Promise<ImportResult>;
  /**
   * Makes pending orders within PostgreSQL, all of them or none.
   *
   * @returns the number of orders
   */
  generateOrders(options: GenerateOptions): Promise<number>;
}

const FIND = prepareStatement<OrderRow>(
  'find-order',
  `select id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
   from orders where id = $1`,
);

/**
 * Orders in PostgreSQL. Requests run hand-written statements instead of MikroORM, which takes ten times as long to make an
 * entity as PostgreSQL takes for the statement.
 */
export function createOrderStore(database: Database, servers: DatabaseServers): OrderStore {
  const reads = database.sender('reads');
  const scans = database.sender('scans');
  const writes = database.sender('writes');
  const commands = new OrderCommands(writes);
  return {
    ...createOrderLists(database),
    countOrders: (status) => countOrders(servers, status),
    async findOrder(id) {
      const [row] = await reads.run(FIND, [id.toString()]);
      return row && orderOfRow(row);
    },
    findOrders: (request) => findOrders({ reads, scans }, request),
    applyCommand: (id, command, now, origin) => inTime(commands.apply(id, command, now, origin)),
    insertOrder: (order, origin, idempotencyKey) => inTime(placeOrder(writes, { order, origin, idempotencyKey })),
    importOrders: (orders, options) => importOrders(servers, orders, options),
    generateOrders: (options) => generateOrders(servers, options),
  };
}

const countOrders = (servers: DatabaseServers, status: OrderStatus | undefined): Promise<number> =>
  withLongSession(servers, { forWrites: false }, async (client) => {
    const { rows } =
      status === undefined
        ? await client.query<{ count: string }>('select count(*) from orders')
        : await client.query<{ count: string }>('select count(*) from orders where status = $1', [status]);
    return Number(rows[0]?.count);
  });

/** How long a caller waits for a change that may take several statements, in milliseconds. */
const CHANGE_TIMEOUT_MS = 2_500;

const inTime = <Value>(change: Promise<Value>): Promise<Value> => withTimeout(change, CHANGE_TIMEOUT_MS, TOO_LATE);
