import type { Order, OrderFieldReader, OrderFormat, OrderSink } from '@petstore/domain';

// The JSON of an order, in the two ways in which it is written: from an object, and for the long list from the bytes of
// the database. A test compares them. In v1 64-bit integers are bare digits; an unknown ship date is left out.

/** An order with its status, as exports have it. */
export const orderToJson = (order: Order): string => `{"id":${order.id},"petId":${order.petId}${restOf(order)}`;

/** The same as v2 has it: ids are strings, which no JSON parser rounds. */
export const orderToV2Json = (order: Order): string => `{"id":"${order.id}","petId":"${order.petId}"${restOf(order)}`;

const restOf = ({ quantity, shipDate, complete, status }: Order): string => {
  const date = shipDate === undefined ? '' : `,"shipDate":"${shipDate.toISOString()}"`;
  return `,"quantity":${quantity}${date},"complete":${complete},"status":"${status}"}`;
};

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);

const ID = ascii('{"id":');
const PET_ID = ascii(',"petId":');
const QUANTITY = ascii(',"quantity":');
const SHIP_DATE = ascii(',"shipDate":"');
const DATE_END = ascii('"');
const COMPLETE = ascii(',"complete":');
const OPEN = 0x5b;
const CLOSE = 0x5d;
const COMMA = 0x2c;
const END = 0x7d;

/** Bytes of the longest order, with a comma behind it. */
const ORDER_MAX_BYTES =
  ascii('{"id":-9223372036854775808,"petId":-9223372036854775808,"quantity":2147483647,').length +
  ascii('"shipDate":"2026-01-02T03:04:05.678Z","complete":false},').length;
const BRACKETS = 2;

/** All orders as one JSON array, without their status, cut into pieces between two orders: the list of v1. */
export const ORDERS_JSON: OrderFormat<Uint8Array> = {
  name: 'json',
  fields: ['id', 'petId', 'quantity', 'shipDate', 'complete'],
  createSink: (maxOrders, isFirst) => new OrderJsonSink(maxOrders, isFirst),
};

class OrderJsonSink implements OrderSink<Uint8Array> {
  readonly #bytes: Uint8Array;
  #length = 0;
  #isFirst: boolean;

  constructor(maxOrders: number, isFirst: boolean) {
    this.#bytes = Buffer.allocUnsafeSlow(maxOrders * ORDER_MAX_BYTES + BRACKETS);
    this.#isFirst = isFirst;
    if (isFirst) this.#bytes[this.#length++] = OPEN;
  }

  add(fields: OrderFieldReader): void {
    const out = this.#bytes;
    let o = this.#length;
    if (this.#isFirst) this.#isFirst = false;
    else out[o++] = COMMA;
    o = fields.copyText(out, append(out, ID, o));
    o = fields.copyText(out, append(out, PET_ID, o));
    o = fields.copyText(out, append(out, QUANTITY, o));
    const dateStart = append(out, SHIP_DATE, o);
    const dateEnd = fields.copyTime(out, dateStart);
    if (dateEnd > dateStart) o = append(out, DATE_END, dateEnd);
    o = fields.copyBoolean(out, append(out, COMPLETE, o));
    out[o++] = END;
    this.#length = o;
  }

  finish(isLast: boolean): Uint8Array {
    if (isLast) this.#bytes[this.#length++] = CLOSE;
    return this.#bytes.subarray(0, this.#length);
  }
}

function append(out: Uint8Array, text: Uint8Array, offset: number): number {
  // Short texts: a loop is faster than a call of set().
  for (let i = 0; i < text.length; i++) out[offset + i] = text[i] as number; // within its length
  return offset + text.length;
}
