import { setImmediate as turn } from 'node:timers/promises';
import {
  INT64_MAX,
  INT64_MIN,
  type Order,
  type OrderRepository,
  type OrderStatus,
  type OrderText,
} from '@petstore/domain';
import type { Database } from '../database/database.ts';
import { type Field, type PreparedStatement, prepareStatement, type QuerySender } from '../database/statement.ts';
import { toRfc3339 } from '../time-text.ts';
import { coalescePerTick } from './coalesce-per-tick.ts';
import { type OrderRow, orderOfRow } from './order-rows.ts';

/** Orders in the first batch: a short list takes one small statement, and a long one begins at once. */
const FIRST_BATCH = 250;
/** Orders in every other batch: some 200 kB of text, of which a list holds at most two. */
const BATCH = 4_000;

// A batch is one row, with one text for all values of a column. For PostgreSQL it costs no more than a row for each order,
// and for this process a quarter. No value contains a comma.

const selectOrders = (limit: number) =>
  prepareStatement<BatchRow<ColumnsOf<OrderRow>>>(
    `list-orders-${limit}`,
    `select count(*), max(id),
          string_agg(id::text, ','),
          string_agg(pet_id::text, ','),
          string_agg(quantity::text, ','),
          string_agg(coalesce(ship_date::text, ''), ','),
          string_agg(status, ','),
          string_agg(case when complete then 't' else 'f' end, ','),
          string_agg(placed_at::text, ','),
          string_agg(coalesce(shipped_at::text, ''), ','),
          string_agg(coalesce(completed_at::text, ''), ','),
          string_agg(coalesce(cancelled_at::text, ''), ',')
   from (select * from orders where id >= $1 order by id limit ${limit}) batch`,
  );

const selectTexts = (limit: number) =>
  prepareStatement<BatchRow<ColumnsOf<TextRow>>>(
    `list-order-texts-${limit}`,
    `select count(*), max(id),
          string_agg(id::text, ','),
          string_agg(pet_id::text, ','),
          string_agg(quantity::text, ','),
          string_agg(coalesce(ship_date::text, ''), ','),
          string_agg(status, ','),
          string_agg(case when complete then 't' else 'f' end, ',')
   from (select * from orders where id >= $1 order by id limit ${limit}) batch`,
  );

/** For each column of a row, the values of all rows, separated by commas; null if there are no rows. */
type ColumnsOf<Row extends readonly Field[]> = { readonly [Column in keyof Row]: string | null };

/** The number of rows, the largest id, and the columns. */
type BatchRow<Columns extends readonly Field[]> = readonly [
  count: string,
  largestId: string | null,
  ...columns: Columns,
];

/** The columns, split at the commas: each has one value per row. */
type ValuesOf<Row extends readonly Field[]> = { readonly [Column in keyof Row]: readonly string[] };

type TextRow = readonly [
  id: string,
  petId: string,
  quantity: string,
  shipDate: string,
  status: OrderStatus,
  complete: 't' | 'f',
];

const ordersOf = (values: ValuesOf<OrderRow>): readonly Order[] =>
  values[0].map((_, i) => orderOfRow(values.map((column) => column[i]) as readonly unknown[] as OrderRow)); // its columns

function* textsOf([ids, petIds, quantities, shipDates, statuses, completes]: ValuesOf<TextRow>): Generator<OrderText> {
  for (let i = 0; i < ids.length; i++) {
    const values: readonly unknown[] = [ids[i], petIds[i], quantities[i], shipDates[i], statuses[i], completes[i]];
    const [id, petId, quantity, shipDate, status, complete] = values as TextRow; // each column has one for each row
    yield {
      id,
      petId,
      quantity,
      shipDate: shipDate === '' ? undefined : toRfc3339(shipDate),
      status,
      complete: complete === 't',
    };
  }
}

/**
 * Lists all orders by id in batches, each a statement that begins after the last id of the previous one. Orders never
 * change their id and are never deleted, so every order that was committed when the list began is listed exactly once. The
 * list holds no transaction, and between two batches no connection. One batch is fetched ahead.
 *
 * Lists of one kind that need the same batch in the same tick share its statement and the batch.
 */
export function createOrderLists(database: Database): Pick<OrderRepository, 'listOrders' | 'listOrderTexts'> {
  const orderBatches = createBatches(database, selectOrders, ordersOf);
  const textBatches = createBatches(database, selectTexts, (values, isLast) => ({
    orders: { [Symbol.iterator]: () => textsOf(values) },
    isLast,
  }));
  return {
    listOrders: () => ({
      async *[Symbol.asyncIterator](): AsyncGenerator<readonly Order[], void, void> {
        for await (const orders of orderBatches()) if (orders.length > 0) yield orders;
      },
    }),
    listOrderTexts: () => ({ [Symbol.asyncIterator]: textBatches }),
  };
}

interface FetchedBatch<Batch> {
  /** Made at the first call, which splits the columns: the next batch can be requested before. */
  readonly batch: () => Batch;
  /** The lowest possible id of the next batch; `undefined` if no order follows. */
  readonly nextId: bigint | undefined;
}

/** @param batchOf makes a batch from the values of the columns */
function createBatches<Columns extends readonly Field[], Batch>(
  database: Database,
  selectBatch: (limit: number) => PreparedStatement<BatchRow<Columns>>,
  batchOf: (values: ValuesOf<Columns>, isLast: boolean) => Batch,
): () => AsyncGenerator<Batch, void, void> {
  const fetchFrom = (sender: QuerySender, limit: number) => {
    const statement = selectBatch(limit);
    return coalescePerTick(String, async (fromId: bigint): Promise<FetchedBatch<Batch>> => {
      const [row] = await sender.run(statement, [fromId.toString()]);
      if (row === undefined) throw new Error('a statement of aggregates returned no row');
      const [count, largestId, ...columns] = row;
      const lastId = BigInt(largestId ?? INT64_MAX);
      const nextId = Number(count) < limit || lastId === INT64_MAX ? undefined : lastId + 1n;
      let batch: Batch | undefined;
      return {
        batch: () => {
          if (batch === undefined) {
            const values = columns.map((column) => column?.split(',') ?? []);
            batch = batchOf(values as readonly string[][] as unknown as ValuesOf<Columns>, nextId === undefined); // one for one
          }
          return batch;
        },
        nextId,
      };
    });
  };
  // A short list does not wait for the batches of long lists.
  const firstBatch = fetchFrom(database.sender('reads'), FIRST_BATCH);
  const laterBatch = fetchFrom(database.sender('batches'), BATCH);
  return async function* readBatches() {
    let next: Promise<FetchedBatch<Batch>> | undefined = firstBatch(INT64_MIN);
    while (next !== undefined) {
      const { batch, nextId }: FetchedBatch<Batch> = await next;
      next = nextId === undefined ? undefined : laterBatch(nextId);
      if (next !== undefined) {
        // It may fail while its reader is busy with another batch, or has left. A reader gets the error when it asks.
        next.catch(() => {});
        // The statement is sent now: PostgreSQL works on it while this batch is being read.
        await turn();
      }
      yield batch();
    }
  };
}
