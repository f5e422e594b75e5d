import type { OrderListing } from '@petstore/domain';
import { coalescePerTick } from './coalesce-per-tick.ts';
import {
  behindId,
  columnsOf,
  copyOrders,
  type LineFormat,
  linesOf,
  ORDER_OBJECTS,
  type OrderBatch,
} from './copy-orders.ts';
import type { ConnectionPools } from './pipelined-connections.ts';
import {
  type Field,
  type PreparedStatement,
  prepareStatement,
  type QuerySender,
  runStatement,
} from './pipelined-query.ts';

/** Orders in the first batch: a short list is one prepared statement, and a long one begins at once. */
const FIRST_BATCH = 250;
/** Orders in every other batch: some 400 kB of text, of which a listing holds two at most. */
const BATCH = 4_000;

type ListingSources = Pick<ConnectionPools, 'reads' | 'batches'>;

/**
 * Lists all orders by id in batches, each a statement that begins behind the last id of the one before. Orders never
 * change their id and never vanish, so whatever was committed when the listing began is met exactly once, although no
 * transaction, and between two batches no connection, is held. One batch is fetched ahead.
 *
 * Listings of one format that want the same batch in the same tick share it: many callers often cost what one does.
 */
export function createOrderListings(sources: ListingSources): () => OrderListing {
  const listings = new WeakMap<object, () => AsyncGenerator<unknown, void, void>>();
  /** @param key of the format */
  function list<Batch>(key: object, createFormat: () => LineFormat<Batch>): AsyncGenerator<Batch, void, void> {
    let begin = listings.get(key);
    if (begin === undefined) {
      begin = createListing(sources, createFormat());
      listings.set(key, begin);
    }
    return begin() as AsyncGenerator<Batch, void, void>; // made of the same format
  }
  return () => ({
    as: (format) => ({ [Symbol.asyncIterator]: () => list(format, () => linesOf(format)) }),
    [Symbol.asyncIterator]: () => list(ORDER_OBJECTS, () => ORDER_OBJECTS),
  });
}

function createListing<Batch>(
  { reads, batches }: ListingSources,
  format: LineFormat<Batch>,
): () => AsyncGenerator<Batch, void, void> {
  const statement: PreparedStatement<readonly Field[]> = prepareStatement(
    `list-orders-${format.name}`,
    `select ${columnsOf(format.fields)} from orders order by id limit ${FIRST_BATCH}`,
  );
  const firstBatch = coalescePerTick(
    () => '',
    () => readFirstBatch(reads, statement, format),
  );
  const batchAfter = coalescePerTick(
    (lastId: string) => lastId,
    (lastId) => copyOrders(batches, { format, where: behindId(lastId), limit: BATCH }),
  );
  const fetchAhead = (lastId: string | undefined) => {
    const ahead = lastId === undefined ? undefined : batchAfter(lastId);
    // It may fail while its reader is busy with another batch, or gone: a reader learns of it when it asks.
    ahead?.catch(() => {});
    return ahead;
  };

  return async function* readBatches() {
    let batch: OrderBatch<Batch> | undefined = await firstBatch({});
    while (batch !== undefined) {
      const next = fetchAhead(batch.lastId);
      if (batch.content !== undefined) yield batch.content;
      batch = await next;
    }
  };
}

async function readFirstBatch<Batch>(
  reads: QuerySender,
  statement: PreparedStatement<readonly Field[]>,
  format: LineFormat<Batch>,
): Promise<OrderBatch<Batch>> {
  const rows = await runStatement(reads, statement, []);
  const lines = Buffer.from(rows.map((row) => `${row.join('\t')}\n`).join(''), 'latin1');
  const sink = format.createSink(rows.length, true);
  for (let start = 0; start < lines.length; ) start = sink.addLine(lines, start);
  const lastId = rows.length < FIRST_BATCH ? undefined : (rows.at(-1)?.[0] ?? undefined);
  return { content: sink.finish(lastId === undefined), lastId };
}
