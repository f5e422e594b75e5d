import {
  decideOrder,
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
import { listOrders } from './order-listing.ts';
import { findOrders } from './order-page.ts';
import { ORDER_COLUMNS, type OrderRow, orderOfRow } from './order-rows.ts';
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

/**
 * What each command does to a row, and to which rows: `decideOrder` in SQL. A test holds every state against every
 * command, so that the two cannot drift apart.
 */
const TRANSITIONS = {
  cancel: { set: `status = 'cancelled', cancelled_at = $2`, where: `status = 'pending'` },
  ship: { set: `status = 'shipped', shipped_at = $2`, where: `status = 'pending'` },
  complete: { set: `complete = true, completed_at = $2`, where: `status = 'shipped' and not complete` },
} as const satisfies Record<OrderCommand, { set: string; where: string }>;

type TransitionRow = readonly [applied: 't' | 'f', ...OrderRow];

/** Gives the row as changed or, where the condition does not hold, as it was: one round trip for either outcome. */
const transitionStatement = (command: OrderCommand) =>
  prepareStatement<TransitionRow>(
    `${command}-order`,
    `with changed as (
       update orders set ${TRANSITIONS[command].set} where id = $1 and ${TRANSITIONS[command].where}
       returning ${ORDER_COLUMNS}
     )
     select true, ${ORDER_COLUMNS} from changed
     union all
     select false, ${ORDER_COLUMNS} from orders where id = $1 and not exists (select from changed)`,
  );

const TRANSITION_STATEMENTS = {
  cancel: transitionStatement('cancel'),
  ship: transitionStatement('ship'),
  complete: transitionStatement('complete'),
} satisfies Record<OrderCommand, unknown>;

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

  constructor(databaseUrl: string, connections: OrderConnections) {
    this.#databaseUrl = databaseUrl;
    this.#connections = connections;
  }

  listOrders(): OrderListing {
    return listOrders(this.#connections);
  }

  findOrders(request: OrderPageRequest): Promise<OrderPage> {
    return findOrders(this.#connections, request);
  }

  async applyCommand(id: OrderId, command: OrderCommand, now: Date): Promise<OrderTransition> {
    const values = [id.toString(), now.toISOString()];
    for (;;) {
      const rows = await runStatement(this.#connections.writes, TRANSITION_STATEMENTS[command], values);
      if (rows[0] === undefined) return { applied: false, order: undefined };
      const [applied, ...row] = rows[0];
      const order = orderOfRow(row);
      if (applied === 't') return { applied: true, order };
      // The statement found the row locked and, after the wait, changed; but it shows the row as of its beginning. If the
      // command fits that one, another was first: look again. No state is entered twice, so this ends.
      if (!decideOrder(order, command, now).ok) return { applied: false, order };
    }
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
