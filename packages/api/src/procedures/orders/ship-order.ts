import { defineOperation } from '../../define-operation.ts';
import { int64 } from '../../int64.ts';
import { inputObject } from '../schemas.ts';
import { applyOrderCommand } from './apply-order-command.ts';

export const shipOrder = defineOperation(
  {
    type: 'mutation',
    repetition: { type: 'transition', doneCode: 'order_already_shipped', resultOf: 'orders.get' },
    access: 'internal',
    input: inputObject({ orderId: int64('Identifier of the order to ship.') }),
  },
  ({ ctx, input }) => applyOrderCommand(ctx, input, 'ship'),
);
