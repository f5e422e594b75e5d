import type { Order, OrderListing } from '@petstore/domain';
import { z } from 'zod';
import type { ProcedureMeta } from '../../procedure-meta.ts';
import { ORDERS_JSON } from '../../rest/order-json.ts';
import { OrderResponse } from './order.contract.ts';

/** Batches of orders, ascending by id, as they come from the database. Over tRPC they need a streaming link. */
export type OrderBatches = AsyncIterable<readonly Order[]>;

export const listOrdersMeta = {
  openapi: {
    method: 'GET',
    path: '/store/orders',
    operationId: 'listOrders',
    summary: 'List all orders',
    description:
      'Returns all orders placed in the store in a single response, ascending by id, whatever became of them. ' +
      'Filtering and pagination are not supported.',
    tags: ['orders'],
    successDescription: 'All orders.',
  },
  rest: {
    response: z.array(OrderResponse),
    examples: {
      some: {
        summary: 'An order to come, one that has been fulfilled, and one whose ship date is not known.',
        value: [
          { id: 1, petId: 7, quantity: 2, shipDate: '2026-12-01T09:30:00.000Z', complete: false },
          { id: 2, petId: 12, quantity: 1, shipDate: '2026-11-03T14:05:21.480Z', complete: true },
          { id: 5, petId: 7, quantity: 30, complete: false },
        ],
      },
      none: { summary: 'No order has been placed yet.', value: [] },
    },
    errors: [],
    serialize: (orders: OrderListing) => ({ type: 'json-stream', chunks: orders.as(ORDERS_JSON) }),
  },
  streams: true,
} satisfies ProcedureMeta;
