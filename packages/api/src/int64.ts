import { INT64_MAX, INT64_MIN, parseInt64 } from '@petstore/domain';
import { z } from 'zod';
import { ApiError } from './api-error.ts';

// 64-bit integers, exact over their whole range: `bigint` here and over tRPC, decimal digits everywhere else. Only the
// domain's `parseInt64` reads them, and it accepts no spelling but the one in which they are written.

/** A 64-bit integer: `bigint` over tRPC, decimal digits in a URL. */
export const int64 = (description: string) =>
  z
    .int64({
      error: `must be a 64-bit integer, from ${INT64_MIN} to ${INT64_MAX} (a bigint over tRPC, plain decimal digits in a URL)`,
    })
    .meta({ description });

/** A 64-bit integer in JSON in v2, as protobuf's JSON mapping writes it: parsers that only know doubles keep it exact. */
export const int64Text = (description: string) =>
  z
    .string()
    .max(20)
    .regex(/^(0|-?[1-9]\d{0,18})$/)
    .meta({ format: 'int64', description: `${description} A 64-bit integer in decimal digits.` });

/** The message for a path parameter that is not a 64-bit integer. */
export const int64Complaint = (parameter: string): string =>
  `${parameter}: must be a 64-bit integer in plain decimal digits, such as 42, without a plus sign, leading zeros or blanks.`;

/**
 * Reads a path parameter. Its schema does not coerce it, because that schema would then accept more over tRPC, too.
 *
 * @throws ApiError `invalid_request`
 */
export function readInt64(parameter: string, text: string): bigint {
  const value = parseInt64(text);
  if (value === undefined) throw new ApiError('invalid_request', int64Complaint(parameter));
  return value;
}

/** JSON in which 64-bit integers are bare digits. */
export const jsonWithInt64 = (value: unknown): string =>
  JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? rawJSON(item.toString()) : item));

// TypeScript's libraries do not know JSON.rawJSON (ES2026) yet.
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };
