import { setImmediate as turn } from 'node:timers/promises';
import {
  INT64_MIN,
  int64After,
  type Order,
  type OrderRepository,
  type OrderStatus,
  type OrderText,
} from '@petstore/domain';
import type { Database } from '../database/database.ts';
import type { Purpose } from '../database/pool.ts';
import { prepareStatement } from '../database/statement.ts';
import { toRfc3339 } from '../time-text.ts';
import { coalescePerTick } from './coalesce-per-tick.ts';
import { ORDER_COLUMN_NAMES, type OrderRow, orderOfRow } from './order-rows.ts';

/** Orders in the first batch: a short list takes one small statement, and a long one begins at once. */
const FIRST_BATCH = 250;
/** Orders in every other batch: some 100 kB of text, of which a list holds at most two. */
const BATCH = 2_000;

// A batch is one row, with one text for all values of a column. For PostgreSQL it costs no more than a row for each order,
// and for this process a quarter. No value contains a comma.

/** The columns of what REST sends. */
const TEXT_COLUMNS = ['id', 'pet_id', 'quantity', 'ship_date', 'status', 'complete'] as const;

/** The number of orders, the largest id, and for each column the values of all orders; null if there are no orders. */
type BatchRow<Column extends string> = { readonly count: bigint; readonly largest_id: bigint | null } & {
  readonly [name in Column | 'id']: string | null;
};

/** Empty instead of null. */
const joined = (column: string) => `string_agg(coalesce(${column}::text, ''), ',') as ${column}`;

const selectBatch = <Column extends string>(name: string, columns: readonly Column[], limit: number) =>
  prepareStatement<BatchRow<Column>>(
    `${name}-${limit}`,
    `select count(*), max(id) as largest_id, ${columns.map(joined).join(', ')}
     from (select * from orders where id >= $1 order by id limit ${limit}) batch`,
  );

/**
 * PostgreSQL aggregates rows in the order in which a subquery gives them. It documents this as usual, not as a promise.
 *
 * @throws Error if the batch does not end with its largest id
 * @internal exported for a test
 */
export function assertInOrder(ids: string | null, largestId: bigint | null): void {
  if (ids === null) return;
  if (ids.slice(ids.lastIndexOf(',') + 1) !== String(largestId))
    throw new Error('PostgreSQL lists orders out of order');
}

/** The columns, split at the commas: each has one value for each order. */
type ValuesOf<Column extends string> = Readonly<Record<Column, readonly string[]>>;

function valuesOf<Column extends string>(row: BatchRow<Column>, columns: readonly Column[]): ValuesOf<Column> {
  const values = {} as Record<Column, readonly string[]>; // filled before anybody reads it
  for (const column of columns) values[column] = row[column]?.split(',') ?? [];
  return values;
}

/** A column has a value for each order. */
const at = (values: readonly string[], i: number): string => values[i] ?? '';

const timeAt = (values: readonly string[], i: number): Date | null => {
  const text = at(values, i);
  return text === '' ? null : new Date(toRfc3339(text));
};

const ordersOf = (values: ValuesOf<keyof OrderRow>): readonly Order[] =>
  values.id.map((id, i) =>
    orderOfRow({
      id: BigInt(id),
      pet_id: BigInt(at(values.pet_id, i)),
      quantity: Number(at(values.quantity, i)),
      ship_date: timeAt(values.ship_date, i),
      status: at(values.status, i) as OrderStatus, // as the table has it
      complete: at(values.complete, i) === 'true',
      placed_at: new Date(toRfc3339(at(values.placed_at, i))),
      shipped_at: timeAt(values.shipped_at, i),
      completed_at: timeAt(values.completed_at, i),
      cancelled_at: timeAt(values.cancelled_at, i),
    }),
  );

function* textsOf(values: ValuesOf<(typeof TEXT_COLUMNS)[number]>): Generator<OrderText> {
  for (let i = 0; i < values.id.length; i++) {
    const shipDate = at(values.ship_date, i);
    yield {
      id: at(values.id, i),
      petId: at(values.pet_id, i),
      quantity: at(values.quantity, i),
      shipDate: shipDate === '' ? undefined : toRfc3339(shipDate),
      status: at(values.status, i) as OrderStatus, // as the table has it
      complete: at(values.complete, i) === 'true',
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
  const orderBatches = createBatches(database, 'list-orders', ORDER_COLUMN_NAMES, (values, isLast) => ({
    orders: ordersOf(values),
    isLast,
  }));
  const textBatches = createBatches(database, 'list-order-texts', TEXT_COLUMNS, (values, isLast) => ({
    orders: { [Symbol.iterator]: () => textsOf(values) },
    isLast,
  }));
  return {
    listOrders: () => ({ [Symbol.asyncIterator]: orderBatches }),
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
function createBatches<Column extends string, Batch>(
  database: Database,
  name: string,
  columns: readonly Column[],
  batchOf: (values: ValuesOf<Column>, isLast: boolean) => Batch,
): () => AsyncGenerator<Batch, void, void> {
  const fetchFrom = (purpose: Purpose, limit: number) => {
    const statement = selectBatch(name, columns, limit);
    return coalescePerTick(String, async (fromId: bigint): Promise<FetchedBatch<Batch>> => {
      const [row] = await database.run(purpose, statement, [fromId.toString()]);
      if (row === undefined) throw new Error('a statement of aggregates returned no row');
      assertInOrder(row.id, row.largest_id);
      const isLast = row.largest_id === null || Number(row.count) < limit;
      const nextId = isLast ? undefined : int64After(row.largest_id);
      let batch: Batch | undefined;
      return {
        batch: () => (batch ??= batchOf(valuesOf(row, columns), nextId === undefined)),
        nextId,
      };
    });
  };
  // A short list does not wait for the batches of long lists.
  const firstBatch = fetchFrom('requests', FIRST_BATCH);
  const laterBatch = fetchFrom('long', BATCH);
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
