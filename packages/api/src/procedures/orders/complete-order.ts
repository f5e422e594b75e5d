import { internalProcedure } from '../../trpc/trpc.ts';
import { applyOrderCommand } from './apply-order-command.ts';
import { CompleteOrderInput } from './complete-order.contract.ts';

export const completeOrder = internalProcedure
  .input(CompleteOrderInput)
  .mutation(({ ctx, input }) => applyOrderCommand(ctx, input, 'complete'));
