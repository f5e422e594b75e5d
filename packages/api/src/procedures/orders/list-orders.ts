import { PACKED_ORDERS } from '../../trpc/packed-orders.ts';
import { procedure } from '../../trpc/trpc.ts';
import { listOrdersMeta, type OrderBatches } from './list-orders.contract.ts';

/**
 * Returns the store's listing itself: REST sends it as JSON, callers in this process iterate over its orders, and tRPC
 * streams its batches, packed where the caller's transformer makes orders of them.
 */
export const listOrders = procedure.meta(listOrdersMeta).query(async ({ ctx }): Promise<OrderBatches> => {
  const orders = ctx.services.orders.listOrders();
  const batches =
    ctx.acceptsPackedOrders === true ? (orders.as(PACKED_ORDERS) as AsyncIterable<unknown> as OrderBatches) : orders; // what the caller makes of them
  return ctx.beginList === undefined ? batches : ctx.beginList(batches);
});
