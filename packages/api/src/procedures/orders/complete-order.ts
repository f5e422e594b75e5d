import { internalProcedure } from '../../trpc/trpc.ts';
import { applyOrderCommand } from './apply-order-command.ts';
import { completeOrderContract } from './complete-order.contract.ts';

export const completeOrder = internalProcedure
  .meta(completeOrderContract)
  .input(completeOrderContract.input)
  .mutation(({ ctx, input }) => applyOrderCommand(ctx, input, 'complete'));
