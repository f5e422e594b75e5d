import { parseInt64 } from '@petstore/domain';
import superjson, { type SuperJSONResult } from 'superjson';
import { ApiError } from '../api-error.ts';
import { toSuperjson } from './to-superjson.ts';

/**
 * superjson in both directions, so that `bigint` and `Date` arrive as what they are. Clients take it as it is; those that
 * read packed orders know one type more.
 */
export const transformer = {
  serialize: toSuperjson,
  deserialize: readInput,
};

/** @throws ApiError `invalid_request` where the input is not what superjson writes */
function readInput(encoded: SuperJSONResult): unknown {
  refuseLooseIntegers(encoded);
  try {
    return superjson.deserialize(encoded);
  } catch (cause) {
    throw new ApiError('invalid_request', 'The input is not encoded as superjson encodes it.', cause);
  }
}

/** superjson decodes by `BigInt(text)`, which takes `0x10` for 16 and the empty text for 0. */
function refuseLooseIntegers(encoded: SuperJSONResult): void {
  const types: unknown = encoded?.meta?.values;
  const { json } = encoded ?? {};
  if (typeof types !== 'object' || types === null || typeof json !== 'object' || json === null) return;
  for (const [field, type] of Object.entries(types)) {
    if (!Array.isArray(type) || type[0] !== 'bigint') continue;
    const text: unknown = Reflect.get(json, field);
    if (typeof text === 'string' && parseInt64(text) !== undefined) continue;
    throw new ApiError('invalid_request', 'The input holds an integer that is not a 64-bit one in decimal digits.');
  }
}
