import { defineOperation } from '../../define-operation.ts';
import { int64 } from '../../int64.ts';
import { inputObject } from '../schemas.ts';
import { applyOrderCommand } from './apply-order-command.ts';

export const completeOrder = defineOperation(
  {
    type: 'mutation',
    repetition: { type: 'transition', doneCode: 'order_already_completed', resultOf: 'orders.get' },
    access: 'internal',
    input: inputObject({ orderId: int64('Identifier of the order to complete.') }),
  },
  ({ ctx, input }) => applyOrderCommand(ctx, input, 'complete'),
);
