import type { Order, OrderListing } from '@petstore/domain';
import { z } from 'zod';
import type { ProcedureMeta } from '../../rest/rest-contract.ts';
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
    errors: [],
    represent: (orders: OrderListing) => ({ type: 'json-stream', chunks: orders.jsonChunks() }),
  },
} satisfies ProcedureMeta;
