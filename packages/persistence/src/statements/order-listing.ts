import type { Order, OrderListing } from '@petstore/domain';
import { copyOrderJson, type OrderJsonBatch } from './copy-order-json.ts';
import { ORDER_JSON_COLUMNS, type OrderJsonRow, orderJson } from './order-json.ts';
import { ORDER_COLUMNS, type OrderRow, orderOfRow } from './order-rows.ts';
import type { OrderConnections } from './order-store.ts';
import { prepareStatement, runStatement } from './prepared-statement.ts';

/** Orders in the first batch: a short list is one prepared statement, and a long one begins at once. */
const FIRST_BATCH = 250;
/** Orders in every other batch of text: some 400 kB, of which a listing holds two at most. */
const JSON_BATCH = 4_000;
/** Orders in every other batch of objects. */
const OBJECT_BATCH = 1_000;

const FIRST_JSON_BATCH = prepareStatement<OrderJsonRow>(
  'list-orders-json',
  `select ${ORDER_JSON_COLUMNS} from orders order by id limit ${FIRST_BATCH}`,
);

const FIRST_OBJECT_BATCH = prepareStatement<OrderRow>(
  'list-orders',
  `select ${ORDER_COLUMNS} from orders order by id limit ${FIRST_BATCH}`,
);

const NEXT_OBJECT_BATCH = prepareStatement<OrderRow>(
  'list-orders-after',
  `select ${ORDER_COLUMNS} from orders where id > $1 order by id limit ${OBJECT_BATCH}`,
);

/**
 * Lists all orders by id in batches, each a statement that begins behind the last id of the one before. Orders never
 * change their id and never vanish, so whatever was committed when the listing began is met exactly once, although no
 * transaction, and between two batches no connection, is held. One batch is fetched ahead of what was asked for.
 */
export function listOrders(connections: OrderConnections): OrderListing {
  return {
    jsonChunks: () => jsonChunks(connections),
    [Symbol.asyncIterator]: () => orderBatches(connections),
  };
}

async function* jsonChunks(connections: OrderConnections): AsyncGenerator<Uint8Array, void, void> {
  const first = await firstJsonBatch(connections);
  if (first.lastId === undefined) {
    yield first.bytes;
    return;
  }
  let next: Promise<OrderJsonBatch> | undefined = jsonBatchAfter(connections, first.lastId);
  yield first.bytes;
  while (next !== undefined) {
    const batch: OrderJsonBatch = await next;
    next = batch.lastId === undefined ? undefined : jsonBatchAfter(connections, batch.lastId);
    if (batch.bytes.length > 0) yield batch.bytes;
  }
  yield Buffer.from(']');
}

async function firstJsonBatch({ reads }: OrderConnections): Promise<OrderJsonBatch> {
  const rows = await runStatement(reads, FIRST_JSON_BATCH, []);
  const lastId = rows.length < FIRST_BATCH ? undefined : rows.at(-1)?.[0];
  let json = '[';
  for (const row of rows) json += json === '[' ? orderJson(row) : `,${orderJson(row)}`;
  return { bytes: Buffer.from(lastId === undefined ? `${json}]` : json, 'latin1'), lastId };
}

const jsonBatchAfter = ({ batches }: OrderConnections, lastId: string): Promise<OrderJsonBatch> =>
  heldFailure(copyOrderJson(batches, lastId, JSON_BATCH));

async function* orderBatches(connections: OrderConnections): AsyncGenerator<readonly Order[], void, void> {
  let rows = await runStatement(connections.reads, FIRST_OBJECT_BATCH, []);
  let next = orderRowsAfter(connections, rows, FIRST_BATCH);
  for (;;) {
    if (rows.length > 0) yield rows.map(orderOfRow);
    if (next === undefined) return;
    rows = await next;
    next = orderRowsAfter(connections, rows, OBJECT_BATCH);
  }
}

function orderRowsAfter({ batches }: OrderConnections, rows: readonly OrderRow[], limit: number) {
  const last = rows.at(-1);
  if (last === undefined || rows.length < limit) return undefined;
  return heldFailure(runStatement(batches, NEXT_OBJECT_BATCH, [last[0]]));
}

/** A batch fetched ahead may fail while its reader is busy with another, or gone: it is told when it asks. */
function heldFailure<Value>(ahead: Promise<Value>): Promise<Value> {
  ahead.catch(() => {});
  return ahead;
}
