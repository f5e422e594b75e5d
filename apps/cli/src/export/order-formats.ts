import { orderWithStatusJson } from '@petstore/api/order-json';
import type { OrderText } from '@petstore/domain';
import { ORDER_FIELDS } from '../import/read-order.ts';
import { startTable } from '../table.ts';
import { jsonArray, lines, type RecordFormat } from './record-formats.ts';

/** None of an order's values needs quotes. */
const toCsv = ({ id, petId, quantity, shipDate, complete, status }: OrderText): string =>
  `${id},${petId},${quantity},${shipDate ?? ''},${complete},${status}`;

export const ORDER_FORMATS = {
  ndjson: lines('', orderWithStatusJson),
  csv: lines(`${ORDER_FIELDS.join(',')}\n`, toCsv),
  array: jsonArray(orderWithStatusJson),
} as const satisfies Record<string, RecordFormat<OrderText>>;

/** @param columns of a person's terminal; `undefined` where there is none */
export function orderTable(columns: number | undefined, now: Date): RecordFormat<OrderText> {
  const table = startTable({ columns, now });
  // For a person it is a day most often.
  const shown = (shipDate: string) =>
    columns === undefined ? shipDate : shipDate.slice(0, 'YYYY-MM-DDThh:mm'.length).replace('T', ' ');
  const rowOf = ({ id, petId, quantity, shipDate, complete, status }: OrderText) => ({
    id: BigInt(id),
    petId: BigInt(petId),
    quantity: Number(quantity),
    shipDate: shipDate === undefined ? null : shown(shipDate),
    complete: complete ? 'yes' : 'no',
    status,
  });
  return { head: '', batch: (orders) => table(orders.map(rowOf)), tail: () => '' };
}
