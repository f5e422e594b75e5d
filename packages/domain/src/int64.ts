/** Smallest 64-bit signed integer, -2^63. */
export const INT64_MIN = -(2n ** 63n);
/** Largest 64-bit signed integer, 2^63 - 1. */
export const INT64_MAX = 2n ** 63n - 1n;

export const isInt64 = (value: bigint): boolean => value >= INT64_MIN && value <= INT64_MAX;

const CANONICAL_INT64 = /^(?:0|-?[1-9]\d{0,18})$/;

/**
 * Reads a canonical decimal 64-bit integer: an optional minus, no plus, no leading zero, no exponent, no blank.
 *
 * @returns the number, or `undefined` where the text is anything else (`0x1`, `1e3`, `007`, `-0`, the empty text, 2^63)
 */
export function parseInt64(text: string): bigint | undefined {
  if (!CANONICAL_INT64.test(text)) return undefined;
  const value = BigInt(text);
  return isInt64(value) ? value : undefined;
}
