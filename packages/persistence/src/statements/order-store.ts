import { type NewOrder, type Order, type OrderRepository, orderId } from '@petstore/domain';
import { type GenerateOptions, generateOrders } from '../bulk/generate-orders.ts';
import { type ImportOptions, type ImportResult, type ImportSource, importRows } from '../bulk/import-rows.ts';
import { ORDER_TARGET } from '../bulk/import-targets.ts';
import { SKIP_TAKEN_IDS } from '../bulk/order-ids.ts';
import type { DatabaseServers } from '../connections/database-servers.ts';
import { OrderCommands } from './order-commands.ts';
import { createOrderListings } from './order-listing.ts';
import { findOrders } from './order-page.ts';
import { ORDER_COLUMNS, type OrderRow, orderOfRow } from './order-rows.ts';
import type { ConnectionPools } from './pipelined-connections.ts';
import { prepareStatement, type QuerySender, runStatement } from './pipelined-query.ts';
import type { Replica } from './replica.ts';

export interface OrderStore extends OrderRepository {
  /**
   * Imports orders with the ids that they have.
   *
   * @throws StorageUnavailableError, and whatever the source throws; nothing is imported then
   */
  importOrders(orders: ImportSource<Order>, options?: ImportOptions): Promise<ImportResult>;
  /** @returns how many orders were added */
  generateOrders(options: GenerateOptions): Promise<number>;
}

const FIND = prepareStatement<OrderRow>('find-order', `select ${ORDER_COLUMNS} from orders where id = $1`);

const INSERT = prepareStatement<readonly [id: string]>(
  'insert-order',
  `insert into orders (pet_id, quantity, ship_date, status, complete, placed_at)
   values ($1, $2, $3, 'pending', false, $4)
   on conflict (id) do nothing
   returning id`,
);

const SKIP = prepareStatement<readonly [id: string]>('skip-taken-ids', SKIP_TAKEN_IDS);

/** Ids drawn in vain before the generator is moved: most often a single one was taken. */
const DRAWS_BEFORE_SKIP = 3;

/** Ids drawn in vain, the generator having been moved in between, before something else must be the reason. */
const DRAWS_MAX = 12;

/** Orders on PostgreSQL, below the ORM: see `openPersistence`. */
export const createOrderStore = (
  servers: DatabaseServers,
  pools: ConnectionPools,
  replica: Replica | undefined,
): OrderStore => ({
  listOrders: createOrderListings({ ...pools, replica }),
  async findOrder(id) {
    const [row] = await runStatement(pools.reads, FIND, [id.toString()]);
    return row && orderOfRow(row);
  },
  findOrders: (request) => findOrders({ ...pools, replica }, request),
  applyCommand: new OrderCommands(pools.writes).apply,
  insertOrder: (order) => insertOrder(pools.writes, order),
  importOrders: (orders, options = {}) => importRows(servers, ORDER_TARGET, orders, options),
  generateOrders: (options) => generateOrders(servers, options),
});

async function insertOrder(writes: QuerySender, order: NewOrder): Promise<Order> {
  const values = [
    order.petId.toString(),
    order.quantity.toString(),
    order.shipDate?.toISOString() ?? null,
    order.placedAt.toISOString(),
  ];
  for (let draws = 1; draws <= DRAWS_MAX; draws++) {
    const [row] = await runStatement(writes, INSERT, values);
    if (row !== undefined) return { ...order, id: orderId(BigInt(row[0])) };
    // The id that was drawn had been imported; after a few in a row there may be any number of them ahead.
    if (draws % DRAWS_BEFORE_SKIP === 0) await runStatement(writes, SKIP, []);
  }
  throw new Error(`PostgreSQL inserted no order, with ${DRAWS_MAX} ids in turn: does a trigger suppress it?`);
}
