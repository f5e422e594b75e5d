import { orderToJson } from '@petstore/api/order-json';
import type { Order, OrderListing, OrderStatus } from '@petstore/domain';
import { ORDER_CSV_HEADER, ORDER_TABLE_HEADER, orderToCsv, orderToTableRow } from './order-text.ts';

/** How orders are written. */
interface OrderFormat {
  readonly head: string;
  readonly order: (order: Order, isFirst: boolean) => string;
  readonly tail: (isEmpty: boolean) => string;
}

const lines = (head: string, toText: (order: Order) => string): OrderFormat => ({
  head,
  order: (order) => `${toText(order)}\n`,
  tail: () => '',
});

const ORDER_FORMATS = {
  ndjson: lines('', orderToJson),
  csv: lines(`${ORDER_CSV_HEADER}\n`, orderToCsv),
  table: lines(`${ORDER_TABLE_HEADER}\n`, orderToTableRow),
  /** One JSON value, an order a line. */
  array: {
    head: '[',
    order: (order, isFirst) => `${isFirst ? '' : ','}\n${orderToJson(order)}`,
    tail: (isEmpty) => (isEmpty ? ']\n' : '\n]\n'),
  },
} as const satisfies Record<string, OrderFormat>;

export type OrderFormatName = keyof typeof ORDER_FORMATS;

export interface WriteOptions {
  readonly format: OrderFormatName;
  /** Only orders of this status. @default all */
  readonly status?: OrderStatus;
  readonly write: (text: string) => Promise<void>;
  readonly onProgress: (count: number) => void;
}

/**
 * Writes orders batch by batch, so that any number of them takes the same memory.
 *
 * @returns how many there were
 */
export async function writeOrders(
  listing: OrderListing,
  { format: name, status, write, onProgress }: WriteOptions,
): Promise<number> {
  const format: OrderFormat = ORDER_FORMATS[name];
  let count = 0;
  let text = format.head;
  for await (const batch of listing) {
    for (const order of batch) {
      if (status !== undefined && order.status !== status) continue;
      text += format.order(order, count === 0);
      count++;
    }
    if (text !== '') await write(text);
    text = '';
    onProgress(count);
  }
  text += format.tail(count === 0);
  if (text !== '') await write(text);
  return count;
}
