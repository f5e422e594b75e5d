import { type Order, orderId } from '@petstore/domain';
import { ApiError } from '../../api-error.ts';
import { procedure } from '../../trpc/trpc.ts';
import { getOrderContract } from './get-order.contract.ts';

export const getOrder = procedure
  .meta(getOrderContract)
  .input(getOrderContract.input)
  .query(async ({ ctx, input }): Promise<Order> => {
    const order = await ctx.services.orders.findOrder(orderId(input.orderId));
    if (order === undefined) throw new ApiError('order_not_found');
    return order;
  });
