import { SuperJSON, type SuperJSONResult, type SuperJSONValue } from 'superjson';

const superjson = new SuperJSON();

/** How values go over the wire, so that ids are `bigint` and times `Date`: superjson. A client of your own may take either. */
export const transformer = {
  serialize: (value: unknown): SuperJSONResult => superjson.serialize(value as SuperJSONValue), // what the procedures' types allow
  // What was parsed for it alone need not be copied.
  deserialize: (encoded: SuperJSONResult): unknown => superjson.deserialize(encoded, { inPlace: true }),
};
