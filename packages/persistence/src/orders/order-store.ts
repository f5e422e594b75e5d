import type { Order, OrderRepository, OrderStatus } from '@petstore/domain';
import { countRows } from '../bulk/count-rows.ts';
import { type GenerateOptions, generateOrders } from '../bulk/generate-orders.ts';
import { type ImportOrdersOptions, importOrders } from '../bulk/import-orders.ts';
import type { ImportResult, ImportSource } from '../bulk/import-rows.ts';
import type { Database } from '../database/database.ts';
import type { DatabaseServers } from '../database/servers.ts';
import { prepareStatement } from '../database/statement.ts';
import { findOrders } from './find-orders.ts';
import { createOrderLists } from './list-orders.ts';
import { OrderCommands } from './order-commands.ts';
import { type OrderRow, orderOfRow } from './order-rows.ts';
import { placeOrder } from './place-order.ts';

export interface OrderStore extends OrderRepository {
  /** @throws StorageUnavailableError */
  countOrders(status?: OrderStatus): Promise<number>;
  /**
   * Imports orders with the ids that they have.
   *
   * @throws StorageUnavailableError, and whatever the source throws; nothing is imported then
   */
  importOrders(orders: ImportSource<Order>, options?: ImportOrdersOptions): Promise<ImportResult>;
  /** @returns how many orders were added */
  generateOrders(options: GenerateOptions): Promise<number>;
}

const FIND = prepareStatement<OrderRow>(
  'find-order',
  `select id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
   from orders where id = $1`,
);

/**
 * Orders on PostgreSQL. Requests run written-out statements and not MikroORM, which takes ten times as long to make an
 * entity as PostgreSQL takes for the statement.
 *
 * @param onRecorded called with the number of events that were recorded
 */
export function createOrderStore(
  database: Database,
  servers: DatabaseServers,
  onRecorded: (count: number) => void,
): OrderStore {
  const reads = database.sender('reads');
  const scans = database.sender('scans');
  const writes = database.sender('writes');
  const commands = new OrderCommands(writes, onRecorded);
  return {
    ...createOrderLists(database),
    countOrders: (status) => countRows(servers, 'orders', status),
    async findOrder(id) {
      const [row] = await reads.run(FIND, [id.toString()]);
      return row && orderOfRow(row);
    },
    findOrders: (request) => findOrders({ reads, scans }, request),
    applyCommand: (id, command, now, origin) => commands.apply(id, command, now, origin),
    insertOrder: (order, origin, idempotencyKey) => placeOrder(writes, { order, origin, idempotencyKey }, onRecorded),
    importOrders: (orders, options) => importOrders(servers, orders, options),
    generateOrders: (options) => generateOrders(servers, options),
  };
}
