import { procedure } from '../../trpc/trpc.ts';
import { CancelOrderInput, cancelOrderMeta } from './cancel-order.contract.ts';
import { commandOrder } from './command-order.ts';

export const cancelOrder = procedure
  .meta(cancelOrderMeta)
  .input(CancelOrderInput)
  .mutation(async ({ ctx, input }): Promise<void> => {
    await commandOrder(ctx.services, input.orderId, 'cancel');
  });
