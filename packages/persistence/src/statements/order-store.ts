import type { Order, OrderRepository, OrderStatus } from '@petstore/domain';
import { countRows } from '../bulk/count-rows.ts';
import { type GenerateOptions, generateOrders } from '../bulk/generate-orders.ts';
import { type ImportOrdersOptions, importOrders } from '../bulk/import-orders.ts';
import type { ImportResult, ImportSource } from '../bulk/import-rows.ts';
import type { DatabaseServers } from '../connections/database-servers.ts';
import { createOrderLists, type ListSources } from '../orders/list-orders.ts';
import { OrderCommands } from './order-commands.ts';
import { findOrders } from './order-page.ts';
import { ORDER_COLUMNS, type OrderRow, orderOfRow } from './order-rows.ts';
import type { ConnectionPools } from './pipelined-connections.ts';
import { prepareStatement, runStatement } from './pipelined-query.ts';
import { insertOrder } from './place-order.ts';

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

const FIND = prepareStatement<OrderRow>('find-order', `select ${ORDER_COLUMNS} from orders where id = $1`);

interface OrderStoreOptions extends Pick<ListSources, 'batches' | 'durations'> {
  /** Called with the number of events recorded. */
  readonly onRecorded: (count: number) => void;
}

/** Orders on PostgreSQL, below the ORM: see `openPersistence`. */
export const createOrderStore = (
  servers: DatabaseServers,
  pools: ConnectionPools,
  { batches, durations, onRecorded }: OrderStoreOptions,
): OrderStore => ({
  ...createOrderLists({ reads: pools.reads, batches, durations }),
  countOrders: (status) => countRows(servers, 'orders', status),
  async findOrder(id) {
    const [row] = await runStatement(pools.reads, FIND, [id.toString()]);
    return row && orderOfRow(row);
  },
  findOrders: (request) => findOrders(pools, request),
  applyCommand: new OrderCommands(pools.writes, onRecorded).apply,
  insertOrder: (order, origin) => insertOrder(pools.writes, order, { origin, onRecorded }),
  importOrders: (orders, options) => importOrders(servers, orders, options),
  generateOrders: (options) => generateOrders(servers, options),
});
