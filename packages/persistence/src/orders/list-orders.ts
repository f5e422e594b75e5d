import { hash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import {
  INT64_MIN,
  int64After,
  type OptionalOrderField,
  ORDER_FIELD_NAMES,
  ORDER_FIELDS,
  type OrderField,
  type OrderRepository,
  type OrderStatus,
  type OrderText,
  type OrderTextBatch,
  type StoredOrder,
} from '@petstore/domain';
import type { Database } from '../database/database.ts';
import type { Purpose } from '../database/pool.ts';
import { prepareStatement } from '../database/statement.ts';
import { COLUMN_OF_FIELD } from '../schema/order-columns.ts';
import { toRfc3339 } from '../time-text.ts';
import { coalescePerTick } from './coalesce-per-tick.ts';
import { COLUMN_KINDS } from './order-kinds.ts';
import { orderOf } from './order-rows.ts';

/** Orders in the first batch: a short list takes one small statement, and a long one begins at once. */
const FIRST_BATCH = 250;
/** Orders in every other batch: some 100 kB of text, of which a list holds at most two. */
const BATCH = 2_000;

// A batch is one row, with one text for all values of a column. For PostgreSQL it costs no more than a row for each order,
// and for this process a quarter.

/** The number of orders, the largest id, and for each field the values of all orders; null if there are no orders. */
type BatchRow = { readonly count: bigint; readonly largest_id: bigint | null } & {
  readonly [Name in OrderField]: string | null;
};

const kindOf = (name: OrderField) => COLUMN_KINDS[ORDER_FIELDS[name].kind];

/** `string_agg(…) as "petId"` */
const aggregate = (name: OrderField) => `${kindOf(name).list.aggregate(COLUMN_OF_FIELD[name])} as "${name}"`;

/** @param fields those whose values are wanted, and the id */
const selectBatch = (name: string, fields: readonly OrderField[], limit: number) =>
  prepareStatement<BatchRow>(
    `${name}-${limit}`,
    `select count(*), max(id) as largest_id, ${[...new Set<OrderField>(['id', ...fields])].map(aggregate).join(', ')}
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

/** The text of each value, in the order of the orders; none of a field that was not asked for. */
type ValuesOfFields = {
  readonly [Name in OrderField]: readonly (Name extends OptionalOrderField ? string | null : string)[];
};

const NO_VALUES: ValuesOfFields = mapFields(() => []);

const valuesOf = (row: BatchRow, fields: readonly OrderField[]): ValuesOfFields => ({
  ...NO_VALUES,
  ...(mapFields((name) => {
    const text = row[name];
    return text === null ? [] : kindOf(name).list.split(text);
  }, fields) as ValuesOfFields), // the column of a field that is not optional has no null
});

function mapFields<Value>(valueAt: (name: OrderField) => Value, fields = ORDER_FIELD_NAMES): Record<OrderField, Value> {
  const values = fields.map((name) => [name, valueAt(name)] as const);
  return Object.fromEntries(values) as Record<OrderField, Value>; // of the fields asked for
}

/** The text of a value; `undefined` if the order has none, which the format of the field's kind says. */
function textAt(values: ValuesOfFields, name: OrderField, i: number): string | undefined {
  const text = values[name][i] ?? undefined;
  return text === '' && kindOf(name).list.isEmptyNull ? undefined : text;
}

/** The text of a value that every order has; empty if the field was not asked for. */
const at = (values: readonly string[], i: number): string => values[i] ?? '';

const ordersOf = (values: ValuesOfFields): readonly StoredOrder[] =>
  values.id.map((_, i) =>
    orderOf((name) => {
      const text = textAt(values, name, i);
      return text === undefined ? undefined : kindOf(name).ofText(text);
    }),
  );

/** Written out, because it runs for each order of lists of millions. The compiler asks for every field. */
function* textsOf(values: ValuesOfFields): Generator<OrderText> {
  for (let i = 0; i < values.id.length; i++) {
    const shipDate = textAt(values, 'shipDate', i);
    yield {
      id: at(values.id, i),
      petId: at(values.petId, i),
      quantity: at(values.quantity, i),
      shipDate: shipDate === undefined ? undefined : toRfc3339(shipDate),
      status: at(values.status, i) as OrderStatus, // or one that this release does not know
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
  const orderBatches = createBatches(database, 'list-orders', ORDER_FIELD_NAMES, (values, isLast) => ({
    orders: ordersOf(values),
    isLast,
  }));
  /** By the names of their fields: lists of the same fields share batches. */
  const textBatches = new Map<string, () => AsyncIterator<OrderTextBatch, void, void>>();
  return {
    listOrders: () => ({ [Symbol.asyncIterator]: orderBatches }),
    listOrderTexts(fields) {
      const name = `list-order-texts-${hash('sha256', fields.join()).slice(0, 8)}`; // PostgreSQL cuts long names
      const batches =
        textBatches.get(name) ??
        createBatches(database, name, fields, (values, isLast) => ({
          orders: { [Symbol.iterator]: () => textsOf(values) },
          isLast,
        }));
      textBatches.set(name, batches);
      return { [Symbol.asyncIterator]: batches };
    },
  };
}

interface FetchedBatch<Batch> {
  /** Made at the first call, which splits the columns: the next batch can be requested before. */
  readonly batch: () => Batch;
  /** The lowest possible id of the next batch; `undefined` if no order follows. */
  readonly nextId: bigint | undefined;
}

/** @param batchOf makes a batch from the values of the fields */
function createBatches<Batch>(
  database: Database,
  name: string,
  fields: readonly OrderField[],
  batchOf: (values: ValuesOfFields, isLast: boolean) => Batch,
): () => AsyncGenerator<Batch, void, void> {
  const fetchFrom = (purpose: Purpose, limit: number) => {
    const statement = selectBatch(name, fields, limit);
    return coalescePerTick(String, async (fromId: bigint): Promise<FetchedBatch<Batch>> => {
      const [row] = await database.run(purpose, statement, [fromId.toString()]);
      if (row === undefined) throw new Error('a statement of aggregates returned no row');
      assertInOrder(row.id, row.largest_id);
      const isLast = row.largest_id === null || Number(row.count) < limit;
      const nextId = isLast ? undefined : int64After(row.largest_id);
      let batch: Batch | undefined;
      return {
        batch: () => (batch ??= batchOf(valuesOf(row, fields), nextId === undefined)),
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
