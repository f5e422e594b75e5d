import { orderId, type StoredOrder } from '@petstore/domain';
import { defineOperation } from '../../define-operation.ts';
import { refusalOf } from '../../errors/refusals.ts';
import { int64, int64Complaint } from '../../int64.ts';
import { inputObject } from '../schemas.ts';
import { ORDER_V2_EXAMPLES, OrderV2Response } from './order-response.ts';

export const getOrder = defineOperation(
  {
    type: 'query',
    input: inputObject({ orderId: int64('Identifier of the order.').meta({ examples: [1] }) }),
    versions: { v2: 'beta' },
    openapi: {
      method: 'GET',
      path: '/store/orders/{orderId}',
      operationId: 'getOrder',
      summary: 'Find an order by its identifier',
      description: 'Returns one order, whatever its state.',
      tags: ['orders'],
      successDescription: 'The order.',
    },
    rest: {
      response: OrderV2Response,
      examples: {
        shipped: {
          summary: 'An order that has shipped.',
          value: ORDER_V2_EXAMPLES.shipped,
        },
        pending: {
          summary: 'A pending order whose ship date is not known.',
          value: ORDER_V2_EXAMPLES.pending,
        },
      },
      invalidRequest: int64Complaint('orderId'),
      errors: ['order_not_found'],
    },
  },
  async ({ ctx, input }): Promise<StoredOrder> => {
    const order = await ctx.services.orders.findOrder(orderId(input.orderId));
    if (order === undefined) throw refusalOf('order_not_found');
    return order;
  },
);
