import type { Order, OrderField, OrderFieldReader, OrderFormat, OrderSink } from '@petstore/domain';
import { toStorageError } from '../storage-error.ts';
import { COLUMN_OF_FIELD, notATime, type OrderRow, orderOfRow } from './order-rows.ts';
import { PipelinedQuery, type QuerySender, type WireConnection } from './pipelined-query.ts';

/** Some of the orders of a listing. */
export interface OrderBatch<Batch> {
  /** `undefined` where the format has nothing to say of this part. */
  readonly content: Batch | undefined;
  /** The id of the last order, as digits; `undefined` where no order follows. */
  readonly lastId: string | undefined;
}

/** Takes the orders of a batch as lines: the values of a format's fields, tabs between them and a newline behind. */
interface LineSink<Batch> {
  /** @param start where in `bytes` the line begins. @returns where the next one begins */
  addLine(bytes: Buffer, start: number): number;
  finish(isLast: boolean): Batch | undefined;
}

/** How a batch is made of lines. */
export interface LineFormat<Batch> {
  readonly name: string;
  readonly fields: readonly OrderField[];
  createSink(maxOrders: number, isFirst: boolean): LineSink<Batch>;
}

export const columnsOf = (fields: readonly OrderField[]): string =>
  fields.map((field) => COLUMN_OF_FIELD[field]).join(', ');

const TAB = 0x09;
const NEWLINE = 0x0a;
const PLUS = 0x2b;
const DOT = 0x2e;
const DIGIT_ZERO = 0x30;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;
const LETTER_t = 0x74;
const TRUE = Buffer.from('true');
const FALSE = Buffer.from('false');

/** Where a time's text, `2026-01-02 03:04:05.6+00`, has its blank, the end of its seconds, and that of its text. */
const DAY_LENGTH = 10;
const SECOND_END = 19;
const RFC_3339_LENGTH = 24;

/** Whether what follows a time's seconds is its zone, UTC, and then the end of the field: a tab or a newline. */
const isEndInUtc = (bytes: Buffer, i: number): boolean =>
  bytes[i] === PLUS &&
  bytes[i + 1] === DIGIT_ZERO &&
  bytes[i + 2] === DIGIT_ZERO &&
  (bytes[i + 3] as number) <= NEWLINE; // within the line

/** Reads lines byte by byte: no string, object or number is made on the way. */
class FormattedLines<Batch> implements LineSink<Batch>, OrderFieldReader {
  readonly #sink: OrderSink<Batch>;
  #bytes: Buffer = Buffer.alloc(0);
  /** Where the next field begins. */
  #position = 0;

  constructor(sink: OrderSink<Batch>) {
    this.#sink = sink;
  }

  addLine(bytes: Buffer, start: number): number {
    this.#bytes = bytes;
    this.#position = start;
    this.#sink.add(this);
    return this.#position;
  }

  finish(isLast: boolean): Batch | undefined {
    return this.#sink.finish(isLast);
  }

  copyText(out: Uint8Array, offset: number): number {
    const bytes = this.#bytes;
    let i = this.#position;
    let o = offset;
    // Whatever ends a field is less than any character in it.
    for (let byte = bytes[i++] as number; byte > NEWLINE; byte = bytes[i++] as number) out[o++] = byte;
    this.#position = i;
    return o;
  }

  copyTime(out: Uint8Array, offset: number): number {
    const bytes = this.#bytes;
    const start = this.#position;
    if ((bytes[start] as number) <= NEWLINE) {
      this.#position++;
      return offset;
    }
    const end = offset + RFC_3339_LENGTH;
    for (let k = 0; k < SECOND_END; k++) out[offset + k] = bytes[start + k] as number; // a time is never shorter
    out[offset + DAY_LENGTH] = LETTER_T;
    let i = start + SECOND_END;
    let o = offset + SECOND_END;
    out[o++] = DOT;
    if (bytes[i] === DOT) {
      for (let digit = bytes[++i] as number; digit >= DIGIT_ZERO; digit = bytes[++i] as number) out[o++] = digit;
    }
    if (o >= end || !isEndInUtc(bytes, i)) throw notATime(bytes.toString('latin1', start, bytes.indexOf(NEWLINE, i)));
    while (o < end - 1) out[o++] = DIGIT_ZERO;
    out[o] = LETTER_Z;
    this.#position = i + '+00 '.length;
    return end;
  }

  copyBoolean(out: Uint8Array, offset: number): number {
    const text = this.#bytes[this.#position] === LETTER_t ? TRUE : FALSE;
    this.#position += 2;
    for (let k = 0; k < text.length; k++) out[offset + k] = text[k] as number; // within its length
    return offset + text.length;
  }
}

/** The lines of a format of the domain. */
export const linesOf = <Batch>(format: OrderFormat<Batch>): LineFormat<Batch> => ({
  name: format.name,
  fields: format.fields,
  createSink: (maxOrders, isFirst) => new FormattedLines(format.createSink(maxOrders, isFirst)),
});

/** Whole orders, as objects. */
export const ORDER_OBJECTS: LineFormat<readonly Order[]> = {
  name: 'objects',
  fields: Object.keys(COLUMN_OF_FIELD) as OrderField[], // its own keys
  createSink() {
    const orders: Order[] = [];
    return {
      addLine(bytes, start) {
        const end = bytes.indexOf(NEWLINE, start);
        // The columns are those of an OrderRow.
        orders.push(orderOfRow(bytes.toString('latin1', start, end).split('\t') as unknown as OrderRow));
        return end + 1;
      },
      finish: () => (orders.length === 0 ? undefined : orders),
    };
  },
};

/** Which orders a batch holds. */
export interface BatchRequest<Batch> {
  readonly format: LineFormat<Batch>;
  /** A condition in SQL with its values in it: COPY takes no parameters. */
  readonly where: string;
  /** How many orders at most. */
  readonly limit: number;
}

/** The quotes keep -2^63 a bigint: without them it is the negation of a numeric. */
export const behindId = (id: string): string => `id > '${id}'::bigint`;

/** Reads a batch by COPY, in its text format. */
export const copyOrders = <Batch>(sender: QuerySender, request: BatchRequest<Batch>): Promise<OrderBatch<Batch>> =>
  new Promise((resolve, reject) => sender.send(new OrderCopy(request, resolve, reject)));

const copyStatement = ({ format, where, limit }: BatchRequest<unknown>): string =>
  `copy (select ${columnsOf(format.fields)} from orders where ${where} order by id limit ${limit}) to stdout (null '')`;

class OrderCopy<Batch> extends PipelinedQuery {
  readonly #request: BatchRequest<Batch>;
  readonly #sink: LineSink<Batch>;
  readonly #resolve: (batch: OrderBatch<Batch>) => void;
  readonly #reject: (error: Error) => void;
  #count = 0;
  #lastId: string | undefined;
  #failure: Error | undefined;

  constructor(
    request: BatchRequest<Batch>,
    resolve: (batch: OrderBatch<Batch>) => void,
    reject: (error: Error) => void,
  ) {
    super();
    this.#request = request;
    this.#sink = request.format.createSink(request.limit, false);
    this.#resolve = resolve;
    this.#reject = reject;
  }

  protected override write(connection: WireConnection): void {
    connection.query(copyStatement(this.#request));
  }

  /** The server sends a message for each line. */
  override handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    try {
      this.#sink.addLine(chunk, 0);
    } catch (error) {
      // Called by the socket's reader, so nothing above would catch it.
      this.#failure ??= toStorageError(error);
    }
    if (++this.#count === this.#request.limit) this.#lastId = chunk.toString('latin1', 0, chunk.indexOf(TAB));
  }

  protected override succeed(): void {
    if (this.#failure !== undefined) {
      this.#reject(this.#failure);
      return;
    }
    const lastId = this.#lastId;
    this.#resolve({ content: this.#sink.finish(lastId === undefined), lastId });
  }

  protected override fail(error: Error): void {
    this.#reject(error);
  }
}
