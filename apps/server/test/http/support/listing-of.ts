import type { Order, OrderListing, OrderRepository } from '@petstore/domain';

/** The real repository with another listing, for `startTestApp`. */
export const listingOf = (
  chunks: () => AsyncIterable<Uint8Array>,
  batches?: () => AsyncIterator<readonly Order[]>,
) => ({
  wrap: {
    orders: (orders: OrderRepository): OrderRepository => ({
      listOrders: (): OrderListing => ({
        jsonChunks: chunks,
        packedBatches: () => orders.listOrders().packedBatches(),
        [Symbol.asyncIterator]: batches ?? (() => orders.listOrders()[Symbol.asyncIterator]()),
      }),
      applyCommand: (...args) => orders.applyCommand(...args),
      findOrders: (...args) => orders.findOrders(...args),
      insertOrder: (...args) => orders.insertOrder(...args),
    }),
  },
});
