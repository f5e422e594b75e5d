import type { Order, OrderRepository, OrderStatus, OrderText } from '@petstore/domain';
import type pg from 'pg';
import { coalescePerTick } from '../statements/coalesce-per-tick.ts';
import { type OrderRow, orderOfRow, toRfc3339 } from '../statements/order-rows.ts';
import {
  type Field,
  type PreparedStatement,
  prepareStatement,
  type QuerySender,
  runStatement,
} from '../statements/pipelined-query.ts';
import type { DurationObserver } from '../statements/pool-options.ts';
import { copyRows } from './copy-rows.ts';

/** Orders in the first batch: a short list is one prepared statement, and a long one begins at once. */
const FIRST_BATCH = 250;
/** Orders in every other batch: some 400 kB of text, of which a list holds two at most. */
const BATCH = 4_000;

const FIRST_ORDERS = prepareStatement<OrderRow>(
  'list-orders',
  `select id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
   from orders order by id limit ${FIRST_BATCH}`,
);

/** The quotes keep -2^63 a bigint: without them it is the negation of a numeric. COPY takes no parameters. */
const ordersBehind = (id: string): string =>
  `copy (
     select id, pet_id, quantity, ship_date, status, complete, placed_at, shipped_at, completed_at, cancelled_at
     from orders where id > '${id}'::bigint order by id limit ${BATCH}
   ) to stdout (null '')`;

const FIRST_TEXTS = prepareStatement<TextRow>(
  'list-order-texts',
  `select id, pet_id, quantity, ship_date, status, complete from orders order by id limit ${FIRST_BATCH}`,
);

const textsBehind = (id: string): string =>
  `copy (
     select id, pet_id, quantity, ship_date, status, complete from orders where id > '${id}'::bigint order by id limit ${BATCH}
   ) to stdout (null '')`;

/** The ship date is null or empty if it is not known. */
type TextRow = readonly [
  id: string,
  petId: string,
  quantity: string,
  shipDate: string | null,
  status: OrderStatus,
  complete: 't' | 'f',
];

const textOfRow = ([id, petId, quantity, shipDate, status, complete]: TextRow): OrderText => ({
  id,
  petId,
  quantity,
  shipDate: shipDate ? toRfc3339(shipDate) : undefined,
  status,
  complete: complete === 't',
});

/** Where lists are read. */
export interface ListSources {
  /** For the first batch of a list. */
  readonly reads: QuerySender;
  /** For all further ones, by COPY. */
  readonly batches: pg.Pool;
  /** Observes how long each COPY takes, the wait for a connection included. */
  readonly durations?: DurationObserver | undefined;
}

/**
 * Lists all orders by id in batches, each a statement that begins behind the last id of the one before. Orders never
 * change their id and never vanish, so whatever was committed when the list began is met exactly once, although no
 * transaction, and between two batches no connection, is held. One batch is fetched ahead.
 *
 * Lists of one kind that want the same batch in the same tick share its statement and its rows.
 */
export function createOrderLists(sources: ListSources): Pick<OrderRepository, 'listOrders' | 'listOrderTexts'> {
  const orderBatches = createBatches(sources, FIRST_ORDERS, ordersBehind, orderOfRow);
  const textBatches = createBatches(sources, FIRST_TEXTS, textsBehind, textOfRow);
  return {
    listOrders: () => ({
      async *[Symbol.asyncIterator](): AsyncGenerator<readonly Order[], void, void> {
        for await (const { items } of orderBatches()) if (items.length > 0) yield items;
      },
    }),
    listOrderTexts: () => ({
      async *[Symbol.asyncIterator]() {
        for await (const { items, lastId } of textBatches()) yield { orders: items, isLast: lastId === undefined };
      },
    }),
  };
}

interface Batch<Item> {
  readonly items: readonly Item[];
  /** The id of the last order, as digits; `undefined` if no order follows. */
  readonly lastId: string | undefined;
}

/** @param copyBehind the statement that copies the orders behind an id, in the columns of `first` */
function createBatches<Row extends readonly Field[], Item>(
  { reads, batches, durations }: ListSources,
  first: PreparedStatement<Row>,
  copyBehind: (id: string) => string,
  itemOf: (row: Row) => Item,
): () => AsyncGenerator<Batch<Item>, void, void> {
  const batchOf = (rows: readonly Row[], limit: number): Batch<Item> => ({
    items: rows.map(itemOf),
    lastId: rows.length < limit ? undefined : (rows.at(-1)?.[0] ?? undefined),
  });
  const firstBatch = coalescePerTick(
    () => '',
    async () => batchOf(await runStatement(reads, first, []), FIRST_BATCH),
  );
  const batchBehind = coalescePerTick(
    (id: string) => id,
    async (id) => {
      const startedMs = performance.now();
      try {
        const rows = await copyRows(batches, copyBehind(id));
        return batchOf(rows as readonly (readonly string[])[] as readonly Row[], BATCH); // the same columns
      } finally {
        durations?.observe((performance.now() - startedMs) / 1_000);
      }
    },
  );
  return async function* readBatches() {
    let next: Promise<Batch<Item>> | undefined = firstBatch('');
    while (next !== undefined) {
      const batch: Batch<Item> = await next;
      next = batch.lastId === undefined ? undefined : batchBehind(batch.lastId);
      // It may fail while its reader is busy with another batch, or gone: a reader learns of it when it asks.
      next?.catch(() => {});
      yield batch;
    }
  };
}
