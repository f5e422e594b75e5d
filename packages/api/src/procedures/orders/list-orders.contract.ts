import type { Order, OrderTextBatch } from '@petstore/domain';
import { z } from 'zod';
import type { ProcedureContract } from '../../procedure-contract.ts';
import { ordersJson } from '../../rest/order-json.ts';
import { OrderResponse } from './order.contract.ts';

/**
 * Batches of orders, ascending by id, as a streaming link receives them. A link that does not stream receives one array of
 * at most 10,000 orders.
 */
export type OrderBatches = AsyncIterable<readonly Order[]>;

/** The list for callers in this process. REST reads it as text. */
export interface OrderList extends OrderBatches {
  readonly texts: () => AsyncIterable<OrderTextBatch>;
}

export const listOrdersContract = {
  type: 'query',
  streams: true,
  versions: { v1: 'stable' },
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
    serialize: ({ texts }: OrderList) => ({ type: 'json-stream', pieces: ordersJson(texts()) }),
  },
} satisfies ProcedureContract;
