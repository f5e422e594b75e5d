import { procedure } from '../../trpc/trpc.ts';
import { listOrdersMeta, type OrderBatches } from './list-orders.contract.ts';

/** Gives the store's listing itself: REST sends its text undecoded, tRPC streams its batches. */
export const listOrders = procedure
  .meta(listOrdersMeta)
  .query(({ ctx }): OrderBatches => ctx.services.orders.listOrders());
