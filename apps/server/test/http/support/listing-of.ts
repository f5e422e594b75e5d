import type { Order, OrderRepository } from '@petstore/domain';
import { overriding } from '../../support/overriding.ts';

/** The real repository with another listing, for `startTestApp`. */
export const listingOf = (
  jsonChunks: () => AsyncIterable<Uint8Array>,
  batches?: () => AsyncIterator<readonly Order[]>,
) => ({
  wrap: {
    orders: (orders: OrderRepository): OrderRepository =>
      overriding(orders, {
        listOrders: () =>
          overriding(orders.listOrders(), { jsonChunks, ...(batches && { [Symbol.asyncIterator]: batches }) }),
      }),
  },
});
