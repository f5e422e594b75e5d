import { internalProcedure } from '../../trpc/trpc.ts';
import { applyOrderCommand } from './apply-order-command.ts';
import { ShipOrderInput } from './ship-order.contract.ts';

export const shipOrder = internalProcedure
  .input(ShipOrderInput)
  .mutation(({ ctx, input }) => applyOrderCommand(ctx, input, 'ship'));
