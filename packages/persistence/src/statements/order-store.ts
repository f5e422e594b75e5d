import {
  type NewOrder,
  type Order,
  type OrderCommand,
  type OrderId,
  type OrderListing,
  type OrderPage,
  type OrderPageRequest,
  type OrderTransition,
  orderId,
} from '@petstore/domain';
import { type GenerateOptions, generateOrders } from '../bulk/generate-orders.ts';
import { type ImportOptions, type ImportRecord, type ImportResult, importRows } from '../bulk/import-rows.ts';
import { ORDER_TARGET } from '../bulk/import-targets.ts';
import { SKIP_TAKEN_IDS } from '../bulk/order-ids.ts';
import type { OrderStore } from '../persistence.ts';
import { OrderCommands } from './order-commands.ts';
import { createOrderListings } from './order-listing.ts';
import { findOrders } from './order-page.ts';
import type { PipelinedConnections } from './pipelined-connections.ts';
import { prepareStatement, runStatement } from './prepared-statement.ts';

export interface OrderConnections {
  /** For short reads. */
  readonly reads: PipelinedConnections;
  /** For statements that commit. */
  readonly writes: PipelinedConnections;
  /** For the batches of long listings, so that short reads never queue behind them. */
  readonly batches: PipelinedConnections;
  /** For statements that may read the whole table to find few orders: nothing else waits behind them. */
  readonly scans: PipelinedConnections;
}

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

/** Orders on PostgreSQL, below the ORM: see `openPersistence`. */
export class PostgresOrderStore implements OrderStore {
  readonly #databaseUrl: string;
  readonly #connections: OrderConnections;
  readonly #commands: OrderCommands;
  readonly listOrders: () => OrderListing;

  constructor(databaseUrl: string, connections: OrderConnections) {
    this.#databaseUrl = databaseUrl;
    this.#connections = connections;
    this.#commands = new OrderCommands(connections.writes);
    this.listOrders = createOrderListings(connections);
  }

  findOrders(request: OrderPageRequest): Promise<OrderPage> {
    return findOrders(this.#connections, request);
  }

  applyCommand(id: OrderId, command: OrderCommand, now: Date): Promise<OrderTransition> {
    return this.#commands.apply(id, command, now);
  }

  async insertOrder(order: NewOrder): Promise<Order> {
    const values = [
      order.petId.toString(),
      order.quantity.toString(),
      order.shipDate?.toISOString() ?? null,
      order.placedAt.toISOString(),
    ];
    for (let draws = 1; ; draws++) {
      const [row] = await runStatement(this.#connections.writes, INSERT, values);
      if (row !== undefined) return { ...order, id: orderId(BigInt(row[0])) };
      // The id that was drawn had been imported; after a few in a row there may be any number of them ahead.
      if (draws % DRAWS_BEFORE_SKIP === 0) await runStatement(this.#connections.writes, SKIP, []);
    }
  }

  importOrders(orders: AsyncIterable<ImportRecord<Order>>, options: ImportOptions = {}): Promise<ImportResult> {
    return importRows(this.#databaseUrl, ORDER_TARGET, orders, options);
  }

  generateOrders(options: GenerateOptions): Promise<number> {
    return generateOrders(this.#databaseUrl, options);
  }
}
