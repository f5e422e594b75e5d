import { internalProcedure } from '../../trpc/trpc.ts';
import { commandOrder } from './command-order.ts';
import { ShipOrderInput } from './ship-order.contract.ts';

export const shipOrder = internalProcedure
  .input(ShipOrderInput)
  .mutation(({ ctx, input }) => commandOrder(ctx.services, input.orderId, 'ship'));
