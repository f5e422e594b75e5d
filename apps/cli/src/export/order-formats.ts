import { orderToJson } from '@petstore/api/order-json';
import type { Order, OrderListing, OrderStatus } from '@petstore/domain';
import { ORDER_FIELDS } from '../import/read-order.ts';
import { startTable } from '../table.ts';

/** How orders are written, a batch at a time. */
interface OrderFormat {
  readonly head: string;
  readonly batch: (orders: readonly Order[], isFirst: boolean) => string;
  readonly tail: (isEmpty: boolean) => string;
}

const lines = (head: string, toText: (order: Order) => string): OrderFormat => ({
  head,
  batch: (orders) => orders.map((order) => `${toText(order)}\n`).join(''),
  tail: () => '',
});

/** None of an order's values needs quotes. */
const toCsv = ({ id, petId, quantity, shipDate, complete, status }: Order): string =>
  `${id},${petId},${quantity},${shipDate?.toISOString() ?? ''},${complete},${status}`;

export const ORDER_FORMATS = {
  ndjson: lines('', orderToJson),
  csv: lines(`${ORDER_FIELDS.join(',')}\n`, toCsv),
  /** One JSON value, an order a line. */
  array: {
    head: '[',
    batch: (orders, isFirst) => `${isFirst ? '' : ','}\n${orders.map(orderToJson).join(',\n')}`,
    tail: (isEmpty) => (isEmpty ? ']\n' : '\n]\n'),
  },
} as const satisfies Record<string, OrderFormat>;

/** @param columns of a person's terminal; `undefined` where there is none */
export function orderTable(columns: number | undefined, now: Date): OrderFormat {
  const table = startTable({ columns, now });
  // For a person it is a day most often.
  const shown = (shipDate: Date) =>
    columns === undefined ? shipDate : shipDate.toISOString().slice(0, 'YYYY-MM-DDThh:mm'.length).replace('T', ' ');
  const rowOf = ({ id, petId, quantity, shipDate, complete, status }: Order) => ({
    id,
    petId,
    quantity,
    shipDate: shipDate === undefined ? null : shown(shipDate),
    complete: complete ? 'yes' : 'no',
    status,
  });
  return { head: '', batch: (orders) => table(orders.map(rowOf)), tail: () => '' };
}

export interface WriteOptions {
  readonly format: OrderFormat;
  /** Only orders of this status. @default all */
  readonly status?: OrderStatus;
  readonly write: (text: string) => Promise<void>;
  readonly onProgress?: (count: number) => void;
}

/**
 * Writes orders batch by batch, so that any number of them takes the same memory.
 *
 * @returns how many there were
 */
export async function writeOrders(
  listing: OrderListing,
  { format, status, write, onProgress }: WriteOptions,
): Promise<number> {
  let count = 0;
  let text = format.head;
  for await (const batch of listing) {
    const orders = status === undefined ? batch : batch.filter((order) => order.status === status);
    if (orders.length > 0) text += format.batch(orders, count === 0);
    count += orders.length;
    if (text !== '') await write(text);
    text = '';
    onProgress?.(count);
  }
  text += format.tail(count === 0);
  if (text !== '') await write(text);
  return count;
}
