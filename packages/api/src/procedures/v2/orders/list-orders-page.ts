import { canMatch, isSearch, type OrderFilter, petId } from '@petstore/domain';
import { ApiError } from '../../../api-error.ts';
import { procedure } from '../../../trpc/trpc.ts';
import {
  cursorError,
  type ListOrdersPageInput,
  listOrdersPageContract,
  type OrdersPage,
} from './list-orders.contract.ts';
import { decodeCursor, encodeCursor } from './order-cursor.ts';

export const listOrdersPage = procedure
  .meta(listOrdersPageContract)
  .input(listOrdersPageContract.input)
  .query(async ({ ctx, input }): Promise<OrdersPage> => {
    const { cursor, limit } = input;
    const filter = filterOf(input);
    const afterId = cursor === undefined ? undefined : decodeCursor(cursor, filter);
    if (cursor !== undefined && afterId === undefined) {
      throw new ApiError('invalid_request', `cursor: ${cursorError}.`);
    }
    if (!canMatch(filter)) return { orders: [] };
    const request = afterId === undefined ? { filter, limit } : { filter, limit, afterId };
    const release = isSearch(filter) ? ctx.services.beginSearch(ctx.principal) : undefined;
    try {
      const { orders, nextAfterId } = await ctx.services.orders.findOrders(request);
      return nextAfterId === undefined ? { orders } : { orders, nextCursor: encodeCursor(nextAfterId, filter) };
    } finally {
      release?.();
    }
  });

type FilterInput = Omit<ListOrdersPageInput, 'cursor' | 'limit'>;

const filterOf = ({ status, petId: pet, complete, shipDateFrom, shipDateTo }: FilterInput): OrderFilter => ({
  ...(status && { statuses: status }),
  ...(pet !== undefined && { petId: petId(pet) }),
  ...(complete !== undefined && { complete }),
  ...(shipDateFrom && { shipDateFrom }),
  ...(shipDateTo && { shipDateTo }),
});
