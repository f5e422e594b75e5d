import type { PetstoreOutputs } from './router.ts';

type Order = PetstoreOutputs['orders']['place'];

/** The states by their numbers. */
const STATUSES = ['pending', 'shipped', 'cancelled'] as const satisfies Order['status'][];
const SHIPPED = 1;
const CANCELLED = 2;
const STATUS_BITS = 3;
const COMPLETE_BIT = 4;
const SHIP_DATE_BIT = 8;

/** Where in an order its fields are; the times that not every order has follow the last. */
const ID = 1;
const PET_ID = 9;
const QUANTITY = 17;
const PLACED_AT = 21;
const OPTIONAL_TIMES = 29;
const TIME_BYTES = 8;

/** The fields of an order in any state, which is put together one by one. */
interface OrderFields {
  id: bigint;
  petId: bigint;
  quantity: number;
  placedAt: Date;
  status: Order['status'];
  complete: boolean;
  shipDate?: Date;
  shippedAt?: Date;
  completedAt?: Date;
  cancelledAt?: Date;
}

/**
 * Makes orders of the form in which the service sends long lists, see `PackedOrders` there.
 *
 * @param text in base64
 * @throws Error where it ends within an order, or names a state that there is not
 */
export function unpackOrders(text: string): readonly Order[] {
  const bytes = bytesOf(text);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const orders: Order[] = [];
  for (let i = 0; i < view.byteLength; ) {
    const flags = view.getUint8(i);
    const number = flags & STATUS_BITS;
    const status = STATUSES[number];
    if (status === undefined) throw new Error('The service sent an order in a form that this version does not know.');
    const order: OrderFields = {
      id: view.getBigInt64(i + ID),
      petId: view.getBigInt64(i + PET_ID),
      quantity: view.getInt32(i + QUANTITY),
      placedAt: timeAt(view, i + PLACED_AT),
      status,
      complete: (flags & COMPLETE_BIT) !== 0,
    };
    i += OPTIONAL_TIMES;
    if ((flags & SHIP_DATE_BIT) !== 0) {
      order.shipDate = timeAt(view, i);
      i += TIME_BYTES;
    }
    if (number === SHIPPED) {
      order.shippedAt = timeAt(view, i);
      i += TIME_BYTES;
    }
    if (order.complete) {
      order.completedAt = timeAt(view, i);
      i += TIME_BYTES;
    }
    if (number === CANCELLED) {
      order.cancelledAt = timeAt(view, i);
      i += TIME_BYTES;
    }
    orders.push(order as Order); // the flags name the state, and each state has its fields
  }
  return orders;
}

const timeAt = (view: DataView, i: number): Date => new Date(view.getFloat64(i));

/** The quickest of the ways that there are: Node, Deno and Bun have the first, new runtimes the second, all the third. */
function bytesOf(text: string): Uint8Array {
  // Each runtime has others of these, which no library's types say.
  const { Buffer, Uint8Array: Bytes } = globalThis as Base64Decoders;
  if (Buffer !== undefined) return Buffer.from(text, 'base64');
  if (Bytes.fromBase64 !== undefined) return Bytes.fromBase64(text);
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

interface Base64Decoders {
  readonly Buffer?: { from(text: string, encoding: 'base64'): Uint8Array };
  readonly Uint8Array: { fromBase64?(text: string): Uint8Array };
}
