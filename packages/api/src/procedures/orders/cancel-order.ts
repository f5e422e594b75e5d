import { procedure } from '../../trpc/trpc.ts';
import { applyOrderCommand } from './apply-order-command.ts';
import { cancelOrderContract } from './cancel-order.contract.ts';

export const cancelOrder = procedure
  .meta(cancelOrderContract)
  .input(cancelOrderContract.input)
  .mutation(async ({ ctx, input }): Promise<void> => {
    await applyOrderCommand(ctx, input, 'cancel');
  });
