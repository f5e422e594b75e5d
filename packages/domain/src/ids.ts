declare const brand: unique symbol;

/** A value that only its constructor function returns. An order's id cannot be passed as a pet's. */
export type Brand<Value, Name extends string> = Value & { readonly [brand]: Name };

/** Smallest 64-bit signed integer, -2^63. */
export const INT64_MIN = -(2n ** 63n);
/** Largest 64-bit signed integer, 2^63 - 1. */
export const INT64_MAX = 2n ** 63n - 1n;

export const isInt64 = (value: bigint): boolean => value >= INT64_MIN && value <= INT64_MAX;

/** The next 64-bit integer; `undefined` after the largest. */
export const int64After = (value: bigint): bigint | undefined => (value === INT64_MAX ? undefined : value + 1n);

const CANONICAL_INT64 = /^(?:0|-?[1-9]\d{0,18})$/;

/**
 * Parses a canonical decimal 64-bit integer: an optional minus, but no plus, leading zero, exponent or blank.
 *
 * @returns the number, or `undefined` if the text is anything else (`0x1`, `1e3`, `007`, `-0`, the empty text, 2^63)
 */
export function parseInt64(text: string): bigint | undefined {
  if (!CANONICAL_INT64.test(text)) return undefined;
  const value = BigInt(text);
  return isInt64(value) ? value : undefined;
}

/** Identifies an order: any 64-bit signed integer. */
export type OrderId = Brand<bigint, 'OrderId'>;

/** @throws RangeError when the value does not fit 64 bits */
export function orderId(value: bigint): OrderId {
  if (!isInt64(value)) throw new RangeError(`an order id is a 64-bit integer, not ${value}`);
  return value as OrderId; // it was checked
}

/** Identifies a pet: any 64-bit signed integer. An order may name one that the catalogue does not hold. */
export type PetId = Brand<bigint, 'PetId'>;

/** @throws RangeError when the value does not fit 64 bits */
export function petId(value: bigint): PetId {
  if (!isInt64(value)) throw new RangeError(`a pet id is a 64-bit integer, not ${value}`);
  return value as PetId; // it was checked
}

/** The recorded author of a change: `key:ID`, `operator:NAME` or `service`. */
export type Actor = Brand<string, 'Actor'>;

/** @param name the id of an API key, or the name of an operator or of a program that calls procedures in its own process */
export const actor = (kind: 'key' | 'operator', name: string): Actor => `${kind}:${name}` as Actor; // of the right form

/** The author of changes that nobody asked for. */
export const SERVICE_ACTOR = 'service' as Actor; // of the right form
