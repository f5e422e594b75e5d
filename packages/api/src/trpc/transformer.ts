import { parseInt64 } from '@petstore/domain';
import superjson, { type SuperJSONResult } from 'superjson';
import { z } from 'zod';
import { ApiError } from '../api-error.ts';

/** How many bytes one input may take, as compact JSON in UTF-8. */
const INPUT_MAX_BYTES = 4_096;

/** The types beyond JSON's that an input may hold, and what superjson writes for a value of each. */
const IS_WRITTEN_FOR = {
  bigint: (json: unknown) => typeof json === 'string' && parseInt64(json) !== undefined, // BigInt takes `0x10`, too
  Date: (json: unknown) => typeof json === 'string',
  undefined: (json: unknown) => json === null,
};

/**
 * The name of a field of the input itself: superjson takes a dot as a step into a nested object, and throws for the two
 * names that are refused here.
 */
const FieldName = z.string().regex(/^(?!(?:constructor|prototype)$)[A-Za-z]\w*$/);
const FieldTypes = z.record(FieldName, z.tuple([z.enum(['bigint', 'Date', 'undefined'])]));

/** A flat object, or no input at all. superjson's note that two fields hold the same value is ignored: each has a copy. */
const EncodedInput = z
  .object({ json: z.record(z.string(), z.unknown()), meta: z.object({ values: FieldTypes.default({}) }).optional() })
  .refine(({ json, meta }) =>
    Object.entries(meta?.values ?? {}).every(
      ([field, [type]]) => Object.hasOwn(json, field) && IS_WRITTEN_FOR[type](json[field]),
    ),
  )
  .or(z.object({ json: z.null(), meta: z.object({ values: z.tuple([z.literal('undefined')]) }) }));

/**
 * superjson in both directions, so that `bigint` and `Date` arrive as what they are. By itself it would build whatever types
 * a caller names (typed arrays of any length, sets of those) before a contract is asked, so an input is checked first: in
 * time and memory linear in its size.
 */
export const transformer = {
  serialize: (value: unknown): SuperJSONResult => superjson.serialize(value),

  /**
   * @param encoded as JSON.parse gives it; its values are not copied
   * @throws ApiError `invalid_request`, `payload_too_large` beyond {@link INPUT_MAX_BYTES}
   */
  deserialize(encoded: unknown): unknown {
    assertSize(encoded);
    const { data } = EncodedInput.safeParse(encoded);
    if (data === undefined) throw new ApiError('invalid_request', NOT_ENCODED);
    const { json, meta } = data;
    // Its own types know neither a value that is unknown nor types that may be missing.
    return superjson.deserialize({ json, meta: { values: meta?.values, v: 1 } } as SuperJSONResult, { inPlace: true });
  },
};

const NOT_ENCODED =
  'The input is not a flat object as superjson encodes it; beyond JSON it may hold bigint (of 64 bits), Date and undefined.';

function assertSize(encoded: unknown): void {
  try {
    if (Buffer.byteLength(JSON.stringify(encoded)) <= INPUT_MAX_BYTES) return;
  } catch {
    // It is nested deeper than the stack, which takes more bytes than there may be.
  }
  throw new ApiError('payload_too_large', `An input may take ${INPUT_MAX_BYTES} bytes at most, and a request 65536.`);
}
