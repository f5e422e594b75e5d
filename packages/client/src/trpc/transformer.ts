import { SuperJSON, type SuperJSONResult, type SuperJSONValue } from 'superjson';
import { unpackOrders } from './unpack-orders.ts';

/**
 * How values go over the wire, so that ids are `bigint` and times `Date`: superjson, and for long lists of orders a form
 * of their own. The links of a client of your own take it, together with {@link acceptPackedOrders}.
 */
export const transformer = createTransformer();

interface Transformer {
  serialize(value: unknown): SuperJSONResult;
  deserialize(encoded: SuperJSONResult): unknown;
}

function createTransformer(): Transformer {
  const superjson = new SuperJSON();
  superjson.registerCustom<ReturnType<typeof unpackOrders>, string>(
    {
      // They come, and are never sent.
      isApplicable: (_value): _value is ReturnType<typeof unpackOrders> => false,
      serialize: () => {
        throw new TypeError('Packed orders are only read.');
      },
      deserialize: unpackOrders,
    },
    'petstore.orders.1',
  );
  return {
    serialize: (value) => superjson.serialize(value as SuperJSONValue), // whatever the procedures' types allow
    // What was parsed for it alone need not be copied.
    deserialize: (encoded) => superjson.deserialize(encoded, { inPlace: true }),
  };
}

/**
 * Headers for the link that calls `orders.list`, where it has {@link transformer}: the service then sends a long list
 * packed, which takes it and this side a fraction of the time.
 */
export const acceptPackedOrders = { accept: 'application/jsonl; orders=packed' } as const;
