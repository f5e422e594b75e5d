import type { Order } from '@petstore/domain';
import type { ProcedureMeta } from '../../procedure-meta.ts';
import { orderV2Json } from '../../rest/order-json.ts';
import { inputObject, int64, int64Complaint } from '../input-object.ts';
import { OrderV2Response } from './order.contract.ts';

export const GetOrderInput = inputObject({
  orderId: int64('Identifier of the order.').meta({ examples: [1] }),
});

export const getOrderMeta = {
  versions: { v2: 'experimental' },
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
        },
      },
      pending: {
        summary: 'A pending order whose ship date is not known.',
        value: { id: '2', petId: '7', quantity: 1, complete: false, status: 'pending' },
      },
    },
    invalidRequest: int64Complaint('orderId'),
    errors: ['order_not_found'],
    serialize: (order: Order) => ({ type: 'json', text: orderV2Json(order) }),
  },
} satisfies ProcedureMeta;
