import { defineOperation } from '../../define-operation.ts';
import { int64, int64Complaint } from '../../int64.ts';
import { inputObject } from '../schemas.ts';
import { applyOrderCommand } from './apply-order-command.ts';

export const cancelOrder = defineOperation(
  {
    type: 'mutation',
    repetition: { type: 'transition', doneCode: 'order_already_cancelled' },
    input: inputObject({
      orderId: int64(
        'Identifier of the order to cancel. Send all its digits: many JSON parsers round numbers above 2^53, and a rounded id ' +
          'may be that of another order, which is then cancelled.',
      ).meta({ examples: [1] }),
    }),
    versions: { v1: 'stable', v2: 'beta' },
    openapi: {
      method: 'DELETE',
      path: '/store/orders/{orderId}',
      operationId: 'cancelOrder',
      summary: 'Cancel an order',
      description:
        'Cancels one order by its identifier. Only an order with status `pending` can be cancelled: ' +
        'shipped orders cannot be reversed. A cancelled order remains in the list.',
      tags: ['orders'],
      successDescription: 'Order cancelled successfully.',
    },
    rest: {
      invalidRequest: int64Complaint('orderId'),
      errors: ['order_not_found', 'order_already_shipped', 'order_already_cancelled'],
    },
  },
  async ({ ctx, input }): Promise<void> => {
    await applyOrderCommand(ctx, input, 'cancel');
  },
);
