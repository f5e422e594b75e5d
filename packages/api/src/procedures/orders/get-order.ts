import { orderId, type StoredOrder } from '@petstore/domain';
import { defineOperation } from '../../define-operation.ts';
import { refusalOf } from '../../errors/refusals.ts';
import { int64, int64Complaint } from '../../int64.ts';
import { inputObject } from '../schemas.ts';
import { OrderV2Response } from './order-response.ts';

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
          value: {
            id: '1',
            petId: '7',
            quantity: 2,
            shipDate: '2026-12-01T09:30:00.000Z',
            complete: false,
            status: 'shipped',
            placedAt: '2026-11-28T16:20:00.000Z',
            shippedAt: '2026-12-01T09:30:00.000Z',
          },
        },
        pending: {
          summary: 'A pending order whose ship date is not known.',
          value: {
            id: '2',
            petId: '7',
            quantity: 1,
            complete: false,
            status: 'pending',
            placedAt: '2026-11-30T10:05:00.000Z',
          },
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
