import type { Order, OrderFormat, OrderRepository } from '@petstore/domain';
import { overriding } from '../../support/overriding.ts';

/** A repository whose listings in one format, such as `json` for REST, are others. */
export const withListing = (
  orders: OrderRepository,
  formatName: string,
  list: (original: AsyncIterable<unknown>) => AsyncIterable<unknown>,
): OrderRepository =>
  overriding(orders, {
    listOrders() {
      const listing = orders.listOrders();
      const as = <Batch>(format: OrderFormat<Batch>) =>
        format.name === formatName ? (list(listing.as(format)) as AsyncIterable<Batch>) : listing.as(format);
      return overriding(listing, { as });
    },
  });

/** The real repository with another listing, for `startTestApp`. */
export const listingOf = (
  chunks: () => AsyncIterable<Uint8Array>,
  batches?: () => AsyncIterator<readonly Order[]>,
) => ({
  wrap: {
    orders(orders: OrderRepository): OrderRepository {
      const wrapped = withListing(orders, 'json', chunks);
      if (batches === undefined) return wrapped;
      return overriding(wrapped, {
        listOrders: () => overriding(wrapped.listOrders(), { [Symbol.asyncIterator]: batches }),
      });
    },
  },
});
