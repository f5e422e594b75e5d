import { SuperJSON, type SuperJSONResult, type SuperJSONValue } from 'superjson';

const superjson = new SuperJSON();

/** The encoding of values, superjson, which preserves ids as `bigint` and times as `Date`. Other clients may use it too. */
export const transformer = {
  serialize: (value: unknown): SuperJSONResult => superjson.serialize(value as SuperJSONValue), // the procedures' types allow nothing else
  // The parsed value is used only here, so it need not be copied.
  deserialize: (encoded: SuperJSONResult): unknown => superjson.deserialize(encoded, { inPlace: true }),
};
