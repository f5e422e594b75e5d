import { INT64_MAX, INT64_MIN } from '@petstore/domain';
import { z } from 'zod';

/** A 64-bit integer: `bigint` over tRPC, decimal digits in a URL. */
export const int64 = (description: string) =>
  z
    .int64({
      error: `must be a 64-bit integer, from ${INT64_MIN} to ${INT64_MAX} (over tRPC a bigint, in a URL plain decimal digits)`,
    })
    .meta({ description });

/** A 64-bit integer in JSON and in the document of v2, as protobuf's JSON mapping writes it: parsers that know doubles alone keep it. */
export const int64Text = (description: string) =>
  z
    .string()
    .max(20)
    .regex(/^(0|-?[1-9]\d{0,18})$/)
    .meta({ format: 'int64', description: `${description} A 64-bit integer in decimal digits.` });

/** The message for a path parameter that is no 64-bit integer. */
export const int64Complaint = (parameter: string): string =>
  `${parameter}: must be a 64-bit integer in plain decimal digits, such as 42, without sign "+", leading zeros or blanks.`;

/** An input: exactly these fields. What else came is refused by naming what may come, not what did. */
export const inputObject = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `may only hold ${Object.keys(shape).join(', ')}`
        : `must be an object with ${Object.keys(shape).join(', ')}`,
  });
