import { copyStatement } from './copy-statement.ts';
import { Exchange, type WireConnection } from './exchange.ts';
import { ORDER_JSON_COLUMNS, orderJson } from './order-json.ts';
import type { PipelinedConnections } from './pipelined-connections.ts';

/** A batch of orders as the text of their REST representations, each behind a comma. */
export interface OrderJsonBatch {
  readonly bytes: Uint8Array;
  /** The id of the last one, as digits; `undefined` where no order follows. */
  readonly lastId: string | undefined;
}

const bytes = (text: string) => Buffer.from(text, 'latin1');

const ID = bytes(',{"id":');
const PET_ID = bytes(',"petId":');
const QUANTITY = bytes(',"quantity":');
const SHIP_DATE = bytes(',"shipDate":"');
const DATE_END = bytes('Z"');
const COMPLETE = bytes(',"complete":true}');
const NOT_COMPLETE = bytes(',"complete":false}');

const INT64_MIN_TEXT = '-9223372036854775808';
const LONGEST_ORDER_BYTES =
  1 + orderJson([INT64_MIN_TEXT, INT64_MIN_TEXT, '2147483647', '2026-01-02 03:04:05.678+00', 'f']).length;

const TAB = 0x09;
const DOT = 0x2e;
const DIGIT_ZERO = 0x30;
const LETTER_T = 0x54;
const BACKSLASH = 0x5c;
const LETTER_t = 0x74;

/** Positions within a time's text: the day, a blank, the second, then the decimals if any, then the zone. */
const DAY_LENGTH = 10;
const SECOND_END = 19;

/**
 * Reads the orders behind one id and writes their JSON byte by byte, from the rows of COPY as they arrive: no string, no
 * object, no number is made on the way.
 *
 * @param afterId digits of an int64, from the database itself
 * @param limit how many orders at most
 */
export function copyOrderJson(
  connections: PipelinedConnections,
  afterId: string,
  limit: number,
): Promise<OrderJsonBatch> {
  return new Promise((resolve, reject) => {
    connections.send(new OrderJsonCopy(afterId, limit, resolve, reject));
  });
}

class OrderJsonCopy extends Exchange {
  readonly #afterId: string;
  readonly #limit: number;
  readonly #resolve: (batch: OrderJsonBatch) => void;
  readonly #reject: (error: Error) => void;
  readonly #bytes: Buffer;
  #length = 0;
  #count = 0;
  #lastIdStart = 0;
  #lastIdEnd = 0;

  constructor(
    afterId: string,
    limit: number,
    resolve: (batch: OrderJsonBatch) => void,
    reject: (error: Error) => void,
  ) {
    super();
    this.#afterId = afterId;
    this.#limit = limit;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#bytes = Buffer.allocUnsafeSlow(limit * LONGEST_ORDER_BYTES);
  }

  protected override write(connection: WireConnection): void {
    connection.query(copyStatement(ORDER_JSON_COLUMNS, this.#afterId, this.#limit));
  }

  /** One row: id, pet's id, quantity, time or `\N`, `t` or `f`, with tabs between. */
  override handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    const out = this.#bytes;
    let o = append(out, ID, this.#length);
    let i = 0;
    this.#lastIdStart = o;
    for (let byte = chunk[i++]; byte !== TAB && byte !== undefined; byte = chunk[i++]) out[o++] = byte;
    this.#lastIdEnd = o;
    o = append(out, PET_ID, o);
    for (let byte = chunk[i++]; byte !== TAB && byte !== undefined; byte = chunk[i++]) out[o++] = byte;
    o = append(out, QUANTITY, o);
    for (let byte = chunk[i++]; byte !== TAB && byte !== undefined; byte = chunk[i++]) out[o++] = byte;
    if (chunk[i] === BACKSLASH) {
      i += 3;
    } else {
      o = appendTime(out, chunk, append(out, SHIP_DATE, o), i);
      i = chunk.indexOf(TAB, i) + 1;
    }
    this.#length = append(out, chunk[i] === LETTER_t ? COMPLETE : NOT_COMPLETE, o);
    this.#count++;
  }

  protected override succeed(): void {
    const isLast = this.#count < this.#limit;
    this.#resolve({
      bytes: this.#bytes.subarray(0, this.#length),
      lastId: isLast ? undefined : this.#bytes.toString('latin1', this.#lastIdStart, this.#lastIdEnd),
    });
  }

  protected override fail(error: Error): void {
    this.#reject(error);
  }
}

function append(out: Buffer, text: Buffer, offset: number): number {
  // Short texts: a loop is faster than a call of set().
  for (let i = 0; i < text.length; i++) out[offset + i] = text[i] as number; // within its length
  return offset + text.length;
}

/** Writes `2026-01-02 03:04:05.6+00` as `2026-01-02T03:04:05.600Z"`. */
function appendTime(out: Buffer, chunk: Buffer, offset: number, start: number): number {
  for (let i = 0; i < SECOND_END; i++) out[offset + i] = chunk[start + i] as number; // a time is never shorter
  out[offset + DAY_LENGTH] = LETTER_T;
  let o = offset + SECOND_END;
  let i = start + SECOND_END;
  const decimalsEnd = o + 4;
  out[o++] = DOT;
  if (chunk[i] === DOT) {
    i++;
    for (let digit = chunk[i] as number; digit >= DIGIT_ZERO; digit = chunk[++i] as number) out[o++] = digit;
  }
  while (o < decimalsEnd) out[o++] = DIGIT_ZERO;
  return append(out, DATE_END, o);
}
