import { internalProcedure } from '../../trpc/trpc.ts';
import { applyOrderCommand } from './apply-order-command.ts';
import { shipOrderContract } from './ship-order.contract.ts';

export const shipOrder = internalProcedure
  .meta(shipOrderContract)
  .input(shipOrderContract.input)
  .mutation(({ ctx, input }) => applyOrderCommand(ctx, input, 'ship'));
