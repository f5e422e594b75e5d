import { int64 } from '../../int64.ts';
import type { ProcedureContract } from '../../procedure-contract.ts';
import { procedure } from '../../trpc/trpc.ts';
import { inputObject } from '../schemas.ts';
import { applyOrderCommand } from './apply-order-command.ts';

export const completeOrderContract = {
  type: 'mutation',
  access: 'internal',
  input: inputObject({ orderId: int64('Identifier of the order to complete.') }),
} satisfies ProcedureContract;

export const completeOrder = procedure
  .meta(completeOrderContract)
  .input(completeOrderContract.input)
  .mutation(({ ctx, input }) => applyOrderCommand(ctx, input, 'complete'));
