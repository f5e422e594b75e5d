import { parseInt64 } from '@petstore/domain';
import superjson, { type SuperJSONResult } from 'superjson';
import { z } from 'zod';
import { ApiError } from '../api-error.ts';

/** The maximum size of one input, as compact JSON in UTF-8. */
const INPUT_MAX_BYTES = 4_096;

/** The types of input values that JSON lacks, with a check of what superjson writes for each. */
const IS_WRITTEN_FOR = {
  bigint: (json: unknown) => typeof json === 'string' && parseInt64(json) !== undefined, // BigInt takes `0x10`, too
  Date: (json: unknown) => typeof json === 'string',
  undefined: (json: unknown) => json === null,
};

/**
 * The name of a field of the input itself. superjson takes a dot as a step into a nested object, and throws for the two
 * names that are excluded here.
 */
const FieldName = z.string().regex(/^(?!(?:constructor|prototype)$)[A-Za-z]\w*$/);
const FieldTypes = recordOf(FieldName, z.tuple([z.enum(['bigint', 'Date', 'undefined'])]));

/** A flat object, or no input. superjson's note that two fields hold the same value is ignored: each gets a copy. */
const EncodedInput = z
  .object({ json: recordOf(z.string(), z.unknown()), meta: z.object({ values: FieldTypes.default({}) }).optional() })
  .refine(({ json, meta }) =>
    Object.entries(meta?.values ?? {}).every(
      ([field, [type]]) => Object.hasOwn(json, field) && IS_WRITTEN_FOR[type](json[field]),
    ),
  )
  .or(z.object({ json: z.null(), meta: z.object({ values: z.tuple([z.literal('undefined')]) }) }));

/** A record that refuses the field `__proto__`: zod's own drops it without a word. */
function recordOf<Name extends z.ZodString, Value extends z.ZodType>(name: Name, value: Value) {
  return z
    .unknown()
    .refine((fields) => !(typeof fields === 'object' && fields !== null && Object.hasOwn(fields, '__proto__')), {
      abort: true, // what goes by the record's types must not run
    })
    .pipe(z.record(name, value));
}

/**
 * superjson in both directions, so `bigint` and `Date` keep their types. superjson would build values of any type that a
 * caller names (typed arrays of any length, sets of those) before a contract is checked. Therefore each input is checked
 * first, in time and memory linear in its size.
 */
export const transformer = {
  serialize: (value: unknown): SuperJSONResult => superjson.serialize(value),

  /**
   * Never throws: tRPC reads the inputs of a batch together, and would fail all of its calls.
   *
   * @param encoded a result of JSON.parse; its values are not copied
   * @returns the input, or the mark of a malformed one, for {@link assertWellFormed}
   */
  deserialize(encoded: unknown): unknown {
    try {
      return readInput(encoded);
    } catch (error) {
      return { [REFUSAL]: error };
    }
  },
};

/** Marks an input that could not be read, with the error as its value. No JSON has such a field. */
const REFUSAL = Symbol('refusal');

/**
 * @param input as `transformer.deserialize` returned it
 * @throws ApiError `invalid_request`, `payload_too_large` beyond {@link INPUT_MAX_BYTES}
 */
export function assertWellFormed(input: unknown): void {
  if (typeof input === 'object' && input !== null && REFUSAL in input) throw input[REFUSAL];
}

function readInput(encoded: unknown): unknown {
  assertSize(encoded);
  const { data } = EncodedInput.safeParse(encoded);
  if (data === undefined) throw new ApiError('invalid_request', NOT_ENCODED);
  const { json, meta } = data;
  // superjson's types allow neither unknown values nor a missing list of types.
  return superjson.deserialize({ json, meta: { values: meta?.values, v: 1 } } as SuperJSONResult, { inPlace: true });
}

const NOT_ENCODED =
  'The input must be a flat object encoded by superjson, without a field __proto__; besides JSON, it may contain 64-bit ' +
  'bigint, Date and undefined.';

function assertSize(encoded: unknown): void {
  try {
    if (Buffer.byteLength(JSON.stringify(encoded)) <= INPUT_MAX_BYTES) return;
  } catch {
    // An input nested too deeply for the stack exceeds the maximum size anyway.
  }
  throw new ApiError(
    'payload_too_large',
    `An input may have at most ${INPUT_MAX_BYTES} bytes, and a request at most 65536.`,
  );
}
