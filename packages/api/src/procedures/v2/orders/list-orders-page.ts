import { ORDER_STATUSES, orderId, petId, SORT_ORDERS } from '@petstore/domain';
import { z } from 'zod';
import { defineOperation } from '../../../define-operation.ts';
import { int64 } from '../../../int64.ts';
import { ORDER_V2_EXAMPLES, OrderV2Response } from '../../orders/order-response.ts';
import { pageContract } from '../../page.ts';

const statusError = `must be one of ${ORDER_STATUSES.join(', ')}`;
const orderError = `must be ${SORT_ORDERS.join(' or ')}`;

const page = pageContract({
  items: 'orders',
  item: OrderV2Response,
  after: orderId,
  input: {
    status: z
      .enum(ORDER_STATUSES, statusError)
      .meta({ description: 'Only orders with this status.', examples: ['pending'] })
      .optional(),
    petId: int64('Only orders for this animal.')
      .meta({ examples: [7] })
      .optional(),
    order: z
      .enum(SORT_ORDERS, orderError)
      .default('asc')
      .meta({ description: 'Whether the smallest id comes first, or the largest.', examples: ['asc'] }),
  },
});

/** Lists orders, page by page, by their ids. */
export const listOrdersPage = defineOperation(
  {
    type: 'query',
    input: page.input,
    versions: { v2: 'experimental' },
    openapi: {
      method: 'GET',
      path: '/store/orders',
      operationId: 'listOrdersPage',
      summary: 'List orders, page by page',
      description:
        'Returns the orders that match all filters, by their ids, one page at a time. Send `next` as `cursor` to get the ' +
        'page after it. No order is returned twice, and no order that matches the filters throughout is missed, whatever is ' +
        'placed, cancelled or shipped between two pages. Unknown parameters are rejected.',
      tags: ['orders'],
      successDescription: 'One page of orders.',
    },
    rest: {
      ...page.rest,
      examples: {
        page: {
          summary: 'A page of two orders.',
          value: {
            orders: [
              { ...ORDER_V2_EXAMPLES.shipped, complete: true, completedAt: '2026-12-02T14:00:00.000Z' },
              ORDER_V2_EXAMPLES.pending,
            ],
            next: 'AQAAAAAAAAACpe0Sr1xXuwnn',
          },
        },
        nothing: { summary: 'No order matches the filters.', value: { orders: [], next: null } },
      },
      errors: [],
    },
  },
  ({ ctx, input }) =>
    page.read(input, ({ status, petId: pet, order }, part) =>
      ctx.services.orders.findOrders({
        filter: { ...(status && { statuses: [status] }), ...(pet !== undefined && { petId: petId(pet) }) },
        order,
        ...part,
      }),
    ),
);
