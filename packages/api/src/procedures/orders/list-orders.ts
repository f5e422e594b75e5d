import { procedure } from '../../trpc/trpc.ts';
import { listOrdersMeta, type OrderBatches } from './list-orders.contract.ts';

/**
 * Gives the store's listing itself: REST sends its text undecoded, callers in this process iterate over its orders, and
 * tRPC streams its batches, packed where the caller's transformer makes orders of them again.
 */
export const listOrders = procedure.meta(listOrdersMeta).query(async ({ ctx }): Promise<OrderBatches> => {
  const orders = ctx.services.orders.listOrders();
  const batches = ctx.acceptsPackedOrders === true ? (orders.packedBatches() as OrderBatches) : orders; // as its caller reads them
  return ctx.beginList === undefined ? batches : ctx.beginList(batches);
});
