import type { Order, OrderListing, PackedOrders } from '@petstore/domain';
import { coalescePerTick } from './coalesce-per-tick.ts';
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
 *
 * Listings that want the same batch at the same moment get the same bytes: many callers often cost what one does.
 */
export function createOrderListings({ reads, batches }: OrderConnections): () => OrderListing {
  const firstJsonBatch = coalescePerTick(() => readFirstJsonBatch(reads));
  const jsonBatchAfter = coalescePerTick((lastId: string) => copyOrderJson(batches, lastId, JSON_BATCH));
  const firstBatch = coalescePerTick(() => runStatement(reads, FIRST_OBJECT_BATCH, []));
  const packedBatchAfter = coalescePerTick((lastId: string) => copyPackedOrders(batches, lastId, PACKED_BATCH));
  const objectBatchAfter = (lastId: string) => copyOrders(batches, lastId, OBJECT_BATCH);

  return () => ({
    jsonChunks: () => jsonChunks(firstJsonBatch, jsonBatchAfter),
    packedBatches: () => orderBatches(firstBatch, packedBatchAfter),
    [Symbol.asyncIterator]: () => orderBatches(firstBatch, objectBatchAfter),
  });
}

type FetchFirst<Batch> = (key?: undefined) => Promise<Batch>;
type FetchAfter<Batch> = (lastId: string) => Promise<Batch>;

async function* jsonChunks(
  firstBatch: FetchFirst<OrderJsonBatch>,
  batchAfter: FetchAfter<OrderJsonBatch>,
): AsyncGenerator<Uint8Array, void, void> {
  const first = await firstBatch();
  if (first.lastId === undefined) {
    yield first.bytes;
    return;
  }
  let next: Promise<OrderJsonBatch> | undefined = heldFailure(batchAfter(first.lastId));
  yield first.bytes;
  while (next !== undefined) {
    const { bytes, lastId }: OrderJsonBatch = await next;
    next = lastId === undefined ? undefined : heldFailure(batchAfter(lastId));
    if (bytes.length > 0) yield bytes;
  }
  yield Buffer.from(']');
}

async function readFirstJsonBatch(reads: PipelinedConnections): Promise<OrderJsonBatch> {
  const rows = await runStatement(reads, FIRST_JSON_BATCH, []);
  const lastId = rows.length < FIRST_BATCH ? undefined : rows.at(-1)?.[0];
  let json = '[';
  for (const row of rows) json += json === '[' ? orderJson(row) : `,${orderJson(row)}`;
  return { bytes: Buffer.from(lastId === undefined ? `${json}]` : json, 'latin1'), lastId };
}

async function* orderBatches<Orders extends readonly Order[] | PackedOrders>(
  firstBatch: FetchFirst<readonly OrderRow[]>,
  batchAfter: FetchAfter<OrderBatch<Orders>>,
): AsyncGenerator<readonly Order[] | Orders, void, void> {
  const ahead = (lastId: string | undefined) => (lastId === undefined ? undefined : heldFailure(batchAfter(lastId)));
  const rows = await firstBatch();
  let next = ahead(rows.length < FIRST_BATCH ? undefined : rows.at(-1)?.[0]);
  if (rows.length > 0) yield rows.map(orderOfRow);
  while (next !== undefined) {
    const { orders, count, lastId } = await next;
    next = ahead(lastId);
    if (count > 0) yield orders;
  }
}

/** A batch fetched ahead may fail while its reader is busy with another, or gone: it is told when it asks. */
function heldFailure<Value>(ahead: Promise<Value>): Promise<Value> {
  ahead.catch(() => {});
  return ahead;
}
