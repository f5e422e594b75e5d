import { type Order, PackedOrders } from '@petstore/domain';
import { orderOfCopyRow, PACKED_ORDER_MAX_BYTES, packCopyRow } from './copy-row.ts';
import { copyStatement } from './copy-statement.ts';
import { Exchange, type WireConnection } from './exchange.ts';
import { ORDER_COLUMNS } from './order-rows.ts';
import type { PipelinedConnections } from './pipelined-connections.ts';

/** A batch of whole orders. */
export interface OrderBatch<Orders> {
  readonly orders: Orders;
  readonly count: number;
  /** The id of the last one, as digits; `undefined` where no order follows. */
  readonly lastId: string | undefined;
}

/**
 * Reads the orders behind one id.
 *
 * @param afterId digits of an int64, from the database itself
 * @param limit how many orders at most
 */
export const copyOrders = (connections: PipelinedConnections, afterId: string, limit: number) =>
  copy(connections, afterId, limit, new OrderRows());

/** As {@link copyOrders}, without making an object of any of them. */
export const copyPackedOrders = (connections: PipelinedConnections, afterId: string, limit: number) =>
  copy(connections, afterId, limit, new PackedRows(limit));

/** What becomes of the rows. */
interface RowSink<Orders> {
  /** @param start where in the message the row begins */
  add(message: Buffer, start: number): void;
  finish(): Orders;
}

class OrderRows implements RowSink<readonly Order[]> {
  readonly #orders: Order[] = [];

  add(message: Buffer, start: number): void {
    this.#orders.push(orderOfCopyRow(message, start));
  }

  finish(): readonly Order[] {
    return this.#orders;
  }
}

class PackedRows implements RowSink<PackedOrders> {
  readonly #bytes: Buffer;
  #length = 0;

  constructor(limit: number) {
    this.#bytes = Buffer.allocUnsafeSlow(limit * PACKED_ORDER_MAX_BYTES);
  }

  add(message: Buffer, start: number): void {
    this.#length = packCopyRow(message, start, this.#bytes, this.#length);
  }

  finish(): PackedOrders {
    return new PackedOrders(this.#bytes.subarray(0, this.#length));
  }
}

function copy<Orders>(connections: PipelinedConnections, afterId: string, limit: number, sink: RowSink<Orders>) {
  return new Promise<OrderBatch<Orders>>((resolve, reject) => {
    connections.send(new OrderCopy({ afterId, limit, sink, resolve, reject }));
  });
}

interface OrderCopyOptions<Orders> {
  readonly afterId: string;
  readonly limit: number;
  readonly sink: RowSink<Orders>;
  readonly resolve: (batch: OrderBatch<Orders>) => void;
  readonly reject: (error: Error) => void;
}

/** Before the first row: 11 bytes of signature, 4 of flags, 4 for the length of an extension that there is none of. */
const HEADER_BYTES = 19;
/** The end of all rows: where a row would tell how many columns it has, -1. */
const TRAILER_BYTES = 2;
/** Before the id of a row: how many columns it has, and how long the id is. */
const ID_OFFSET = 6;

/**
 * COPY in its binary format, which spares PostgreSQL writing numbers and times as text, and us reading them. It sends
 * each row as a message; the header precedes the first, and the trailer is a message of its own.
 *
 * @see https://www.postgresql.org/docs/current/sql-copy.html under "Binary Format"
 */
class OrderCopy<Orders> extends Exchange {
  readonly #options: OrderCopyOptions<Orders>;
  #hasBegun = false;
  #count = 0;
  #lastId: string | undefined;

  constructor(options: OrderCopyOptions<Orders>) {
    super();
    this.#options = options;
  }

  protected override write(connection: WireConnection): void {
    const { afterId, limit } = this.#options;
    connection.query(copyStatement(ORDER_COLUMNS, afterId, limit, { isBinary: true }));
  }

  override handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    const start = this.#hasBegun ? 0 : HEADER_BYTES;
    this.#hasBegun = true;
    if (chunk.length === start + TRAILER_BYTES) return;
    this.#options.sink.add(chunk, start);
    if (++this.#count === this.#options.limit) this.#lastId = String(chunk.readBigInt64BE(start + ID_OFFSET));
  }

  protected override succeed(): void {
    const { sink, resolve } = this.#options;
    resolve({ orders: sink.finish(), count: this.#count, lastId: this.#lastId });
  }

  protected override fail(error: Error): void {
    this.#options.reject(error);
  }
}
