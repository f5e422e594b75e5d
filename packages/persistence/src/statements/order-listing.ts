import type { Order, OrderListing, PackedOrders } from '@petstore/domain';
import { copyOrderJson, type OrderJsonBatch } from './copy-order-json.ts';
import { copyOrders, copyPackedOrders, type OrderBatch } from './copy-orders.ts';
import { ORDER_JSON_COLUMNS, type OrderJsonRow, orderJson } from './order-json.ts';
import { ORDER_COLUMNS, type OrderRow, orderOfRow } from './order-rows.ts';
import type { OrderConnections } from './order-store.ts';
import type { PipelinedConnections } from './pipelined-connections.ts';
import { prepareStatement, runStatement } from './prepared-statement.ts';

/** Orders in the first batch: a short list is one prepared statement, and a long one begins at once. */
const FIRST_BATCH = 250;
/** Orders in every other batch of text: some 400 kB, of which a listing holds two at most. */
const JSON_BATCH = 4_000;
/** Orders in every other batch of objects. */
const OBJECT_BATCH = 1_000;
/** Orders in every other packed batch: some 75 kB. */
const PACKED_BATCH = 2_000;

const FIRST_JSON_BATCH = prepareStatement<OrderJsonRow>(
  'list-orders-json',
  `select ${ORDER_JSON_COLUMNS} from orders order by id limit ${FIRST_BATCH}`,
);

const FIRST_OBJECT_BATCH = prepareStatement<OrderRow>(
  'list-orders',
  `select ${ORDER_COLUMNS} from orders order by id limit ${FIRST_BATCH}`,
);

/**
 * Lists all orders by id in batches, each a statement that begins behind the last id of the one before. Orders never
 * change their id and never vanish, so whatever was committed when the listing began is met exactly once, although no
 * transaction, and between two batches no connection, is held. One batch is fetched ahead of what was asked for.
 */
export function listOrders(connections: OrderConnections): OrderListing {
  return {
    jsonChunks: () => jsonChunks(connections),
    packedBatches: () => orderBatches(connections, copyPackedOrders, PACKED_BATCH),
    [Symbol.asyncIterator]: () => orderBatches(connections, copyOrders, OBJECT_BATCH),
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

type CopyBatch<Orders> = (
  connections: PipelinedConnections,
  afterId: string,
  limit: number,
) => Promise<OrderBatch<Orders>>;

async function* orderBatches<Orders extends readonly Order[] | PackedOrders>(
  { reads, batches }: OrderConnections,
  copyBatch: CopyBatch<Orders>,
  limit: number,
): AsyncGenerator<readonly Order[] | Orders, void, void> {
  const batchAfter = (lastId: string | undefined) =>
    lastId === undefined ? undefined : heldFailure(copyBatch(batches, lastId, limit));
  const rows = await runStatement(reads, FIRST_OBJECT_BATCH, []);
  let next = batchAfter(rows.length < FIRST_BATCH ? undefined : rows.at(-1)?.[0]);
  if (rows.length > 0) yield rows.map(orderOfRow);
  while (next !== undefined) {
    const { orders, count, lastId } = await next;
    next = batchAfter(lastId);
    if (count > 0) yield orders;
  }
}

/** A batch fetched ahead may fail while its reader is busy with another, or gone: it is told when it asks. */
function heldFailure<Value>(ahead: Promise<Value>): Promise<Value> {
  ahead.catch(() => {});
  return ahead;
}
