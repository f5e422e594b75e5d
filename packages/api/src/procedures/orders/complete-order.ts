import { internalProcedure } from '../../trpc/trpc.ts';
import { commandOrder } from './command-order.ts';
import { CompleteOrderInput } from './complete-order.contract.ts';

export const completeOrder = internalProcedure
  .input(CompleteOrderInput)
  .mutation(({ ctx, input }) => commandOrder(ctx.services, input.orderId, 'complete'));
