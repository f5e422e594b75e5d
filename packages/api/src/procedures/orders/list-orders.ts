import { procedure } from '../../trpc/trpc.ts';
import { listOrdersMeta, type OrderBatches } from './list-orders.contract.ts';

/**
 * Gives the store's listing itself: REST sends its text undecoded, callers in this process iterate over its orders, and
 * tRPC streams its batches, packed where the caller's transformer makes orders of them again.
 */
export const listOrders = procedure.meta(listOrdersMeta).query(({ ctx }): OrderBatches => {
  const orders = ctx.services.orders.listOrders();
  if (ctx.acceptsPackedOrders !== true) return orders;
  return orders.packedBatches() as OrderBatches; // as its caller reads them
});
