import { ORDER_STATUSES, type OrderFilter, PAGE_LIMIT_MAX, petId, type StoredOrder } from '@petstore/domain';
import { z } from 'zod';
import { ApiError } from '../../../api-error.ts';
import { defineOperation } from '../../../define-operation.ts';
import { int64 } from '../../../int64.ts';
import { writeQuery } from '../../../rest/query.ts';
import { OrderV2Response } from '../../orders/order-response.ts';
import { inputObject, limitError, pageLimit } from '../../schemas.ts';
import { decodeCursor, encodeCursor } from './order-cursor.ts';

const statusError =
  `must be one of ${ORDER_STATUSES.join(', ')} ` +
  `(in a query, repeat the parameter for several: ${ORDER_STATUSES.slice(0, 2)
    .map((status) => `status=${status}`)
    .join('&')})`;
const statusesError = `must be one or more of ${ORDER_STATUSES.join(', ')}`;
/** The message for a text that is no cursor, and for a cursor of other filters. */
const cursorError = 'must be a cursor returned by this operation for the same filters';
/** Longer than present cursors, to leave room for other layouts. */
const CURSOR_MAX_LENGTH = 64;
const ListOrdersPageInput = inputObject({
  status: z
    .array(z.enum(ORDER_STATUSES, statusError), statusesError)
    .min(1, statusesError)
    .max(ORDER_STATUSES.length, statusesError)
    .meta({
      description: 'Only orders with this status. Repeat the parameter for orders with any of several statuses.',
      examples: [['pending', 'shipped']],
    })
    .optional(),
  petId: int64('Only orders for this animal.')
    .meta({ examples: [7] })
    .optional(),
  limit: pageLimit('Maximum number of orders on the page.'),
  cursor: z
    .string()
    .max(CURSOR_MAX_LENGTH, cursorError)
    .regex(/^[\w-]+$/, cursorError)
    .meta({
      description:
        'Where the page begins: the cursor in the `Link` header of the previous page. Valid only with the same filters.',
    })
    .optional(),
});

type ListOrdersPageInput = z.output<typeof ListOrdersPageInput>;

/** One page of orders, ascending by id. */
export interface OrdersPage {
  readonly orders: readonly StoredOrder[];
  /** The value to send as `cursor` for the next page; left out on the last page. */
  readonly nextCursor?: string;
}

/** The links are relative to the request URL: they also work behind a proxy that changes paths. */
function linksOf({ nextCursor }: OrdersPage, { cursor: _, ...input }: ListOrdersPageInput) {
  const query = writeQuery(input);
  const next = nextCursor === undefined ? '' : `<?${query}&cursor=${nextCursor}>; rel="next", `;
  return { link: `${next}<?${query}>; rel="first"` };
}

export const listOrdersPage = defineOperation(
  {
    type: 'query',
    input: ListOrdersPageInput,
    versions: { v2: 'experimental' },
    openapi: {
      method: 'GET',
      path: '/store/orders',
      operationId: 'listOrdersPage',
      summary: 'List orders, page by page',
      description:
        'Returns the orders that match all filters, ascending by id, one page at a time. The `Link` header contains the URL ' +
        'of the next page (`rel="next"`), except on the last page. No order is returned twice, and no order that matches the ' +
        'filters throughout is missed, whatever is placed, cancelled or shipped between two pages. Unknown parameters are ' +
        'rejected.',
      tags: ['orders'],
      successDescription: 'One page of orders.',
    },
    rest: {
      response: z.preprocess(({ orders }: OrdersPage) => orders, z.array(OrderV2Response).max(PAGE_LIMIT_MAX)),
      responseHeaders: {
        Link: {
          description:
            'Links to the next page and the first page (RFC 8288), relative to the request URL. ' +
            'The last page has no `rel="next"`.',
          required: true,
          schema: { type: 'string', maxLength: 1_000, pattern: '^(<[^>]*>; rel="next", )?<[^>]*>; rel="first"$' },
          example: '<?limit=100&cursor=AQAAAAAAAABkEJLXUvQdlyCG>; rel="next", <?limit=100>; rel="first"',
        },
      },
      examples: {
        page: {
          summary: 'A page of two orders.',
          value: [
            {
              id: '1',
              petId: '7',
              quantity: 2,
              shipDate: '2026-12-01T09:30:00.000Z',
              complete: true,
              status: 'shipped',
            },
            { id: '2', petId: '7', quantity: 1, complete: false, status: 'pending' },
          ],
        },
        nothing: { summary: 'No order matches the filters.', value: [] },
      },
      invalidRequest: `limit: ${limitError}.`,
      errors: [],
      headersOf: linksOf,
    },
  },
  async ({ ctx, input }): Promise<OrdersPage> => {
    const { cursor, limit } = input;
    const filter = filterOf(input);
    const afterId = cursor === undefined ? undefined : decodeCursor(cursor, filter);
    if (cursor !== undefined && afterId === undefined) {
      throw new ApiError('invalid_request', `cursor: ${cursorError}.`);
    }
    const request = afterId === undefined ? { filter, limit } : { filter, limit, afterId };
    const { orders, nextAfterId } = await ctx.services.orders.findOrders(request);
    return nextAfterId === undefined ? { orders } : { orders, nextCursor: encodeCursor(nextAfterId, filter) };
  },
);

const filterOf = ({ status, petId: pet }: Pick<ListOrdersPageInput, 'status' | 'petId'>): OrderFilter => ({
  ...(status && { statuses: status }),
  ...(pet !== undefined && { petId: petId(pet) }),
});
