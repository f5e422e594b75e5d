import { procedure } from '../../trpc/trpc.ts';
import { applyOrderCommand } from './apply-order-command.ts';
import { CancelOrderInput, cancelOrderMeta } from './cancel-order.contract.ts';

export const cancelOrder = procedure
  .meta(cancelOrderMeta)
  .input(CancelOrderInput)
  .mutation(async ({ ctx, input }): Promise<void> => {
    await applyOrderCommand(ctx, input, 'cancel');
  });
