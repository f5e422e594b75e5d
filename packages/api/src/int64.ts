import { INT64_MAX, INT64_MIN } from '@petstore/domain';
import { z } from 'zod';

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

export const int64Error =
  'must be a 64-bit integer in plain decimal digits, such as 42, without a plus sign, leading zeros or blanks';

/** The message for a parameter in a URL that is not a 64-bit integer. */
export const int64Complaint = (parameter: string): string => `${parameter}: ${int64Error}.`;

/** Writes a 64-bit integer as {@link int64Text}. */
export const int64AsText = (description: string) =>
  z.preprocess((value: bigint) => value.toString(), int64Text(description));

/** Writes a 64-bit integer as bare digits in JSON. */
export const int64AsDigits = (description: string) =>
  int64(description).overwrite((value) => rawJSON(value.toString()) as bigint); // for JSON.stringify, which comes next

// TypeScript's libraries do not know JSON.rawJSON (ES2026) yet.
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };
