import type { Connection } from '../options.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import type { components, operations } from './document-v2.ts';
import { parseInt64Objects } from './int64-json.ts';
import { takeUntilAborted } from './order-list.ts';
import { type CallOptions, createRestCall } from './rest-call.ts';

/** An order as v2 of the REST interface shows it. */
export type OrderV2 = components['schemas']['OrderV2'];

/** Which orders are listed; `limit` is the number of orders per request, 1,000 at most. @default limit 100 */
export type OrderFilter = Omit<NonNullable<operations['listOrdersPage']['parameters']['query']>, 'cursor'>;

/** Orders, ascending by id. Nothing is requested before the list is read, and each reading begins at the first page. */
export interface OrderV2List extends AsyncIterable<OrderV2> {
  /** Reads all of them into memory. */
  toArray(): Promise<OrderV2[]>;
}

interface Page {
  readonly orders: readonly OrderV2[];
  /** The query of the next page, with its question mark. */
  readonly next: string | undefined;
}

/** @throws TypeError when an option or the filter is not valid */
export function listOrderPages(connection: Connection, filter: OrderFilter = {}, options?: CallOptions): OrderV2List {
  const callOf = (query: string) => createRestCall(connection, 'GET', `/v2/store/orders${query}`, options);
  const firstQuery = queryOf(filter);
  callOf(firstQuery); // reports an option that is not valid at once

  async function* readOrders(): AsyncGenerator<OrderV2, void, undefined> {
    for (let query: string | undefined = firstQuery; query !== undefined; ) {
      const page: Page = await callOf(query)(readPage);
      yield* takeUntilAborted(page.orders, options?.signal);
      query = page.next;
    }
  }
  return {
    [Symbol.asyncIterator]: readOrders,
    async toArray() {
      const all: OrderV2[] = [];
      for await (const order of readOrders()) all.push(order);
      return all;
    },
  };
}

/** @throws TypeError where an array is empty: its parameter would be missing, which means every order */
function queryOf(filter: OrderFilter): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) {
    if (Array.isArray(value) && value.length === 0) {
      throw new TypeError(`${name} must hold at least one value; left out, it means any ${name}`);
    }
    for (const item of [value].flat()) if (item !== undefined) query.append(name, String(item));
  }
  return `?${query}`;
}

const NEXT_LINK = /<([^>]*)>; *rel="next"/;

async function readPage(response: ServiceResponse): Promise<Page> {
  const text = await response.readText();
  // Only the query of the link is used: the key is sent to the service alone.
  const target = NEXT_LINK.exec(response.headers.get('link') ?? '')?.[1];
  try {
    const next = target === undefined ? undefined : new URL(target, 'http://service').search;
    return { orders: parseInt64Objects<OrderV2>(text), next };
  } catch (cause) {
    throw response.createError('The page of orders is not what it should be.', undefined, cause);
  }
}
