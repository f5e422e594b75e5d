import { type Order, type OrderStatus, orderId, petId } from '@petstore/domain';

/**
 * Reads whole orders from rows of COPY's binary format: the number of columns in 2 bytes, then each column's length in 4
 * (-1 where it is null) and its value, all with the most significant byte first.
 *
 * The first three columns are never null and always as long, so what they hold has a fixed place.
 */
const ID = 6;
const PET_ID = 18;
const QUANTITY = 30;
const SHIP_DATE = 34;

const LENGTH_BYTES = 4;
const TIME_BYTES = 8;
/** The first byte of a length of -1. */
const NULL_LENGTH = 0xff;

/** The first letters of the states. */
const LETTER_s = 0x73;
const LETTER_c = 0x63;

/** The states as they are numbered in packed orders, see `PackedOrders`. */
const PENDING = 0;
const SHIPPED = 1;
const CANCELLED = 2;
const STATUSES = ['pending', 'shipped', 'cancelled'] as const satisfies OrderStatus[];
const COMPLETE_BIT = 4;
const SHIP_DATE_BIT = 8;

/** The flags, two ids, the quantity and the four times of an order that is complete. */
export const PACKED_ORDER_MAX_BYTES = 1 + 8 + 8 + 4 + 4 * TIME_BYTES;

/** PostgreSQL counts microseconds from 2000. */
const POSTGRES_EPOCH_MS = Date.UTC(2000, 0, 1);

/** @returns milliseconds since 1970, exactly: the columns hold whole ones, so that the last bits of 64 do not count */
function readTimeMs(row: Buffer, i: number): number {
  const microseconds = row.readInt32BE(i) * 2 ** 32 + row.readUInt32BE(i + 4);
  return Math.round(microseconds / 1_000) + POSTGRES_EPOCH_MS;
}

const isNull = (row: Buffer, i: number): boolean => row[i] === NULL_LENGTH;

const skipTime = (row: Buffer, i: number): number => i + LENGTH_BYTES + (isNull(row, i) ? 0 : TIME_BYTES);

function readState(row: Buffer, i: number): 0 | 1 | 2 {
  const letter = row[i + LENGTH_BYTES];
  if (letter === LETTER_s) return SHIPPED;
  return letter === LETTER_c ? CANCELLED : PENDING;
}

/** The fields of an order in any state, which is put together one by one. */
interface OrderFields {
  id: Order['id'];
  petId: Order['petId'];
  quantity: number;
  placedAt: Date;
  status: OrderStatus;
  complete: boolean;
  shipDate?: Date;
  shippedAt?: Date;
  completedAt?: Date;
  cancelledAt?: Date;
}

/**
 * Makes an order. The table's constraints refuse every row that the union cannot express.
 *
 * @param start where in the message the row begins
 */
export function orderOfCopyRow(row: Buffer, start: number): Order {
  const timeAt = (i: number) => new Date(readTimeMs(row, i + LENGTH_BYTES));
  const shipDateAt = start + SHIP_DATE;
  const statusAt = skipTime(row, shipDateAt);
  const completeAt = statusAt + LENGTH_BYTES + row.readInt32BE(statusAt);
  const placedAtAt = completeAt + LENGTH_BYTES + 1;
  const shippedAtAt = skipTime(row, placedAtAt);
  const completedAtAt = skipTime(row, shippedAtAt);
  const cancelledAtAt = skipTime(row, completedAtAt);
  const order: OrderFields = {
    id: orderId(row.readBigInt64BE(start + ID)),
    petId: petId(row.readBigInt64BE(start + PET_ID)),
    quantity: row.readInt32BE(start + QUANTITY),
    placedAt: timeAt(placedAtAt),
    status: STATUSES[readState(row, statusAt)],
    complete: row[completeAt + LENGTH_BYTES] === 1,
  };
  if (!isNull(row, shipDateAt)) order.shipDate = timeAt(shipDateAt);
  if (!isNull(row, shippedAtAt)) order.shippedAt = timeAt(shippedAtAt);
  if (!isNull(row, completedAtAt)) order.completedAt = timeAt(completedAtAt);
  if (!isNull(row, cancelledAtAt)) order.cancelledAt = timeAt(cancelledAtAt);
  return order as Order; // see above
}

/**
 * Packs an order, see `PackedOrders`.
 *
 * @param start where in the message the row begins
 * @returns where in `out` the next one goes
 */
export function packCopyRow(row: Buffer, start: number, out: Buffer, offset: number): number {
  const flagsAt = offset;
  let o = copyInt64(row, start + ID, out, offset + 1);
  o = copyInt64(row, start + PET_ID, out, o);
  o = out.writeInt32BE(row.readInt32BE(start + QUANTITY), o);
  const placedAtAt = o;
  o += TIME_BYTES;
  let i = start + SHIP_DATE;
  let flags = 0;
  if (!isNull(row, i)) {
    flags = SHIP_DATE_BIT;
    o = out.writeDoubleBE(readTimeMs(row, i + LENGTH_BYTES), o);
  }
  i = skipTime(row, i);
  flags |= readState(row, i);
  i += LENGTH_BYTES + row.readInt32BE(i);
  if (row[i + LENGTH_BYTES] === 1) flags |= COMPLETE_BIT;
  i += LENGTH_BYTES + 1;
  out.writeDoubleBE(readTimeMs(row, i + LENGTH_BYTES), placedAtAt);
  i = skipTime(row, i);
  out[flagsAt] = flags;
  // Shipped, completed, cancelled: the table's constraints leave each state the times that belong to it.
  for (let times = 0; times < 3; times++) {
    if (!isNull(row, i)) o = out.writeDoubleBE(readTimeMs(row, i + LENGTH_BYTES), o);
    i = skipTime(row, i);
  }
  return o;
}

/** @returns where in `out` the next field goes */
function copyInt64(row: Buffer, i: number, out: Buffer, o: number): number {
  // Few bytes: a loop is faster than a call of copy().
  for (let k = 0; k < 8; k++) out[o + k] = row[i + k] as number; // within the row
  return o + 8;
}
