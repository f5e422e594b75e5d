import { setImmediate as turn } from 'node:timers/promises';
import type { Order, OrderBatch } from '@petstore/domain';
import { ApiError } from '../../api-error.ts';
import { procedure } from '../../trpc/trpc.ts';
import { listOrdersContract, type OrderBatches, type OrderList } from './list-orders.contract.ts';

/** The maximum number of orders in a batch. While one is written as superjson, nothing else is served. */
const BATCH_MAX = 100;

/** The maximum number of orders in a list that is not streamed, which is held in memory as a whole. */
const WHOLE_LIST_MAX = 10_000;

export const listOrders = procedure.meta(listOrdersContract).query(async ({ ctx }): Promise<OrderBatches> => {
  const { delivery, services } = ctx;
  const { orders } = services;
  switch (delivery.type) {
    case 'in-process': {
      const list: OrderList = {
        [Symbol.asyncIterator]: () => smallBatches(orders.listOrders()),
        texts: () => orders.listOrderTexts(),
      };
      return list;
    }
    case 'batches':
      return smallBatches(await delivery.begin(orders.listOrders()));
    case 'array': {
      const batches = smallBatches(await delivery.begin(orders.listOrders()));
      // The type is that of callers with a streaming link. All others get an array.
      return (await wholeList(batches)) as unknown as OrderBatches;
    }
    default:
      return delivery satisfies never;
  }
});

/** Lets other requests run between two batches. The next batch is made when its reader asks for it. */
async function* smallBatches(batches: AsyncIterable<OrderBatch>): AsyncGenerator<readonly Order[], void, void> {
  for await (const { orders } of batches) {
    for (let start = 0; start < orders.length; start += BATCH_MAX) {
      if (start > 0) await turn();
      yield orders.slice(start, start + BATCH_MAX);
    }
  }
}

/** @throws ApiError `unsupported_media_type` */
async function wholeList(batches: AsyncIterable<readonly Order[]>): Promise<readonly Order[]> {
  const list: Order[] = [];
  for await (const orders of batches) {
    list.push(...orders);
    if (list.length > WHOLE_LIST_MAX) {
      throw new ApiError(
        'unsupported_media_type',
        `There are more than ${WHOLE_LIST_MAX} orders, which are sent to clients that stream only: use httpBatchStreamLink for orders.list.`,
      );
    }
  }
  return list;
}
