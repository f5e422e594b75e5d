import type { Order, OrderFieldReader, OrderFormat, OrderSink, OrderStatus } from '@petstore/domain';

// The form in which a long list of orders travels over tRPC to clients that read it. A batch is one string, to which
// superjson's notes give the type PACKED_ORDERS_TYPE. It holds a line for each order, each ended by a semicolon, of values
// with commas between: id, petId, quantity, status, placedAt, shipDate, shippedAt, completedAt, cancelledAt. Integers are
// decimal digits, times RFC 3339 in UTC with milliseconds, and what an order does not have is empty. An order is complete
// if it has a completedAt.
//
// This module is part of `@petstore/client`, too, and so imports nothing but types.

/** The name by which clients know this form. Another form takes another name. */
export const PACKED_ORDERS_TYPE = 'petstore.orders.2';

/** A batch in this form. */
export class PackedOrders {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Whether a caller reads packed orders. The transformer of `@petstore/client` says so where a call has no input: it names
 * the type as `meta.reads`, beside what superjson writes. All others get what plain superjson reads.
 *
 * @param url of a query, which holds its inputs; the name has no character that would be encoded there
 */
export const acceptsPackedOrders = (url: string | undefined): boolean => url?.includes(PACKED_ORDERS_TYPE) === true;

/** How storage writes a list in this form, without making an object of any order. */
export const PACKED_ORDERS: OrderFormat<PackedOrders> = {
  name: 'packed',
  fields: ['id', 'petId', 'quantity', 'status', 'placedAt', 'shipDate', 'shippedAt', 'completedAt', 'cancelledAt'],
  createSink: (maxOrders) => new PackedOrderSink(maxOrders),
};

const COMMA = 0x2c;
const SEMICOLON = 0x3b;
/** Two ids, the quantity, a status, five times, and a character behind each. */
const ORDER_MAX_BYTES = 20 + 20 + 10 + 9 + 5 * 24 + 9;

class PackedOrderSink implements OrderSink<PackedOrders> {
  readonly #bytes: Buffer;
  #length = 0;

  constructor(maxOrders: number) {
    this.#bytes = Buffer.allocUnsafe(maxOrders * ORDER_MAX_BYTES);
  }

  add(fields: OrderFieldReader): void {
    const out = this.#bytes;
    let o = this.#length;
    for (let i = 0; i < 4; i++) {
      o = fields.copyText(out, o);
      out[o++] = COMMA;
    }
    for (let i = 0; i < 5; i++) {
      o = fields.copyTime(out, o);
      out[o++] = COMMA;
    }
    out[o - 1] = SEMICOLON;
    this.#length = o;
  }

  finish(): PackedOrders | undefined {
    return this.#length === 0 ? undefined : new PackedOrders(this.#bytes.toString('latin1', 0, this.#length));
  }
}

const STATUSES: ReadonlySet<string> = new Set(
  Object.keys({ pending: true, shipped: true, cancelled: true } satisfies Record<OrderStatus, true>),
);

/** The fields of an order in any state. */
interface OrderFields {
  id: bigint;
  petId: bigint;
  quantity: number;
  placedAt: Date;
  status: string;
  complete: boolean;
  shipDate?: Date;
  shippedAt?: Date;
  completedAt?: Date;
  cancelledAt?: Date;
}

/**
 * Makes orders of a batch.
 *
 * @throws SyntaxError where the text is not a batch in this form
 */
export function unpackOrders(text: string): readonly Order[] {
  const lines = text.split(';');
  if (lines.pop() !== '') throw unknownForm();
  return lines.map(unpackOrder);
}

function unpackOrder(line: string): Order {
  const values = line.split(',');
  if (values.length !== 9 || !STATUSES.has(values[3] ?? '')) throw unknownForm();
  const [id = '', petId = '', quantity, status = '', placedAt = '', ...times] = values;
  const [shipDate, shippedAt, completedAt, cancelledAt] = times;
  const order: OrderFields = {
    id: BigInt(id),
    petId: BigInt(petId),
    quantity: Number(quantity),
    placedAt: new Date(placedAt),
    status,
    complete: Boolean(completedAt),
  };
  if (shipDate) order.shipDate = new Date(shipDate);
  if (shippedAt) order.shippedAt = new Date(shippedAt);
  if (completedAt) order.completedAt = new Date(completedAt);
  if (cancelledAt) order.cancelledAt = new Date(cancelledAt);
  return order as Order; // what storage wrote of one
}

const unknownForm = () =>
  new SyntaxError('The service sent a list of orders in a form that this version does not know.');
