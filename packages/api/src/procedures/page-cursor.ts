import { hash } from 'node:crypto';

// A cursor is 18 bytes, 24 characters of base64url: the layout's version, the id after which the next page begins, and
// the beginning of a hash of both and of the list. The hash detects a cursor that is used with another list or was copied
// incompletely. It is no secret: a forged cursor gives access to nothing that a filter would not.

const VERSION = 1;
const ID_START = 1;
const HASH_START = 9;
const LENGTH = 18;

const FORMAT = /^[\w-]{24}$/;

/** Makes the cursor of the page that begins after an id. @param list equal for requests of the same items in the same order */
export function encodeCursor(afterId: bigint, list: unknown): string {
  const bytes = Buffer.alloc(LENGTH);
  bytes[0] = VERSION;
  bytes.writeBigInt64BE(afterId, ID_START);
  hash('sha256', bytes.toString('latin1', 0, HASH_START) + textOf(list), 'buffer').copy(bytes, HASH_START);
  return bytes.toString('base64url');
}

/** @returns the id after which the page begins; `undefined` if the text is no cursor, or one of another list */
export function decodeCursor(cursor: string, list: unknown): bigint | undefined {
  if (!FORMAT.test(cursor)) return undefined;
  const afterId = Buffer.from(cursor, 'base64url').readBigInt64BE(ID_START);
  return encodeCursor(afterId, list) === cursor ? afterId : undefined;
}

const textOf = (list: unknown): string =>
  JSON.stringify(list, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
