import { SuperJSON, type SuperJSONResult, type SuperJSONValue } from 'superjson';
import { PACKED_ORDERS_TYPE, unpackOrders } from './packed-orders.ts';

/**
 * How values go over the wire, so that ids are `bigint` and times `Date`: superjson, and for long lists of orders a form
 * of their own, which takes the service and this side a fraction of the time. The links of a client of your own take it.
 */
export const transformer = createTransformer();

/** As superjson writes that there is none, with a note for the service; superjson ignores. */
const noInput = (): SuperJSONResult => {
  const meta = { values: ['undefined'] as ['undefined'], v: 1, reads: PACKED_ORDERS_TYPE };
  return { json: null, meta };
};

interface Transformer {
  serialize(value: unknown): SuperJSONResult;
  deserialize(encoded: SuperJSONResult): unknown;
}

function createTransformer(): Transformer {
  const superjson = new SuperJSON();
  superjson.registerCustom<ReturnType<typeof unpackOrders>, string>(
    {
      // They are received, and never sent.
      isApplicable: (_value): _value is ReturnType<typeof unpackOrders> => false,
      serialize: () => {
        throw new TypeError('Packed orders are only read.');
      },
      deserialize: unpackOrders,
    },
    PACKED_ORDERS_TYPE,
  );
  return {
    // Whatever the procedures' types allow.
    serialize: (value) => (value === undefined ? noInput() : superjson.serialize(value as SuperJSONValue)),
    // What was parsed for it alone need not be copied.
    deserialize: (encoded) => superjson.deserialize(encoded, { inPlace: true }),
  };
}
