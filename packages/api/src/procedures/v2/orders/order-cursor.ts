import { hash } from 'node:crypto';
import { type OrderFilter, type OrderId, orderId, type SortOrder } from '@petstore/domain';

// A cursor is 18 bytes, 24 characters of base64url: the layout's version, the id after which the next page begins, and
// the beginning of a hash of both, the filter and the order. The hash detects a cursor that is used with others or was copied
// incompletely. It is no secret: a forged cursor gives access to nothing that a filter would not.

const VERSION = 1;
const ID_START = 1;
const HASH_START = 9;
const LENGTH = 18;

const FORMAT = /^[\w-]{24}$/;

/** Makes the cursor of the page that begins after an order. */
export function encodeCursor(afterId: OrderId, filter: OrderFilter, order: SortOrder): string {
  const bytes = Buffer.alloc(LENGTH);
  bytes[0] = VERSION;
  bytes.writeBigInt64BE(afterId, ID_START);
  hash('sha256', bytes.toString('latin1', 0, HASH_START) + textOf(filter, order), 'buffer').copy(bytes, HASH_START);
  return bytes.toString('base64url');
}

/** @returns the id after which the page begins; `undefined` if the text is no cursor, or one of another filter or order */
export function decodeCursor(cursor: string, filter: OrderFilter, order: SortOrder): OrderId | undefined {
  if (!FORMAT.test(cursor)) return undefined;
  const afterId = orderId(Buffer.from(cursor, 'base64url').readBigInt64BE(ID_START));
  return encodeCursor(afterId, filter, order) === cursor ? afterId : undefined;
}

/** Equal for requests that list the same orders in the same order. */
const textOf = ({ statuses, petId }: OrderFilter, order: SortOrder): string =>
  JSON.stringify([statuses, petId?.toString(), order]);
