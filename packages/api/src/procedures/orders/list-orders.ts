import { setImmediate as turn } from 'node:timers/promises';
import type { OrderBatch, OrderTextBatch, StoredOrder } from '@petstore/domain';
import { z } from 'zod';
import { ApiError } from '../../api-error.ts';
import { defineOperation } from '../../define-operation.ts';
import { ordersJson } from '../../rest/order-json.ts';
import { OrderResponse, V1_FIELDS, type V1Field } from './order-response.ts';

/**
 * Batches of orders, ascending by id, as a streaming link receives them. A link that does not stream receives one array of
 * at most 2,000 orders, one at a time for a key.
 */
export type OrderBatches = AsyncIterable<readonly StoredOrder[]>;

/** The list for callers in this process. REST reads it as text. */
export interface OrderList extends OrderBatches {
  readonly texts: () => AsyncIterable<OrderTextBatch<V1Field>>;
}

/** The maximum number of orders in a batch. While one is written as superjson, nothing else is served. */
const BATCH_MAX = 50;

/** The maximum number of orders in a list that is not streamed, which is held in memory as a whole. */
const WHOLE_LIST_MAX = 2_000;

export const listOrders = defineOperation(
  {
    type: 'query',
    streams: true,
    versions: { v1: 'stable' },
    openapi: {
      method: 'GET',
      path: '/store/orders',
      operationId: 'listOrders',
      summary: 'List all orders',
      description:
        'Returns all orders placed in the store in a single response, ascending by id, whatever their status. ' +
        'Filtering and pagination are not supported.',
      tags: ['orders'],
      successDescription: 'All orders.',
    },
    rest: {
      response: z.array(OrderResponse),
      examples: {
        some: {
          summary: 'A pending order, a fulfilled order, and one whose ship date is not known.',
          value: [
            { id: 1, petId: 7, quantity: 2, shipDate: '2026-12-01T09:30:00.000Z', complete: false },
            { id: 2, petId: 12, quantity: 1, shipDate: '2026-11-03T14:05:21.480Z', complete: true },
            { id: 5, petId: 7, quantity: 30, complete: false },
          ],
        },
        none: { summary: 'No order has been placed yet.', value: [] },
      },
      errors: [],
      stream: ({ texts }: OrderList) => ordersJson(texts()),
    },
  },
  async ({ ctx }): Promise<OrderBatches> => {
    const { delivery, services } = ctx;
    const { orders } = services;
    switch (delivery.type) {
      case 'in-process': {
        const list: OrderList = {
          [Symbol.asyncIterator]: () => smallBatches(orders.listOrders()),
          texts: () => orders.listOrderTexts(V1_FIELDS),
        };
        return list;
      }
      case 'batches':
        return smallBatches(await delivery.begin(orders.listOrders()));
      case 'array': {
        const list = await delivery.takeTurn((held) => wholeList(smallBatches(orders.listOrders()), held));
        // The type is that of callers with a streaming link. All others get an array.
        return list as unknown as OrderBatches;
      }
      default:
        return delivery satisfies never;
    }
  },
);

/** Lets other requests run between two batches. The next batch is made when its reader asks for it. */
async function* smallBatches(batches: AsyncIterable<OrderBatch>): AsyncGenerator<readonly StoredOrder[], void, void> {
  for await (const { orders } of batches) {
    for (let start = 0; start < orders.length; start += BATCH_MAX) {
      if (start > 0) await turn();
      yield orders.slice(start, start + BATCH_MAX);
    }
  }
}

/** @throws ApiError `invalid_request` if there are too many, together with those that the response holds already */
async function wholeList(
  batches: AsyncIterable<readonly StoredOrder[]>,
  held: number,
): Promise<readonly StoredOrder[]> {
  const list: StoredOrder[] = [];
  for await (const orders of batches) {
    list.push(...orders);
    if (held + list.length > WHOLE_LIST_MAX) {
      throw new ApiError(
        'invalid_request',
        `There are more than ${WHOLE_LIST_MAX} orders, in all lists of a batch together. Stream orders.list through httpBatchStreamLink, or read pages ` +
          'with v2.orders.list.',
      );
    }
  }
  return list;
}
