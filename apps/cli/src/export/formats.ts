import { orderWithStatusJson } from '@petstore/api/order-json';
import type { OrderText, Pet } from '@petstore/domain';
import { CommandError } from '../errors.ts';
import { ORDER_FIELDS } from '../import/read-order.ts';
import { PET_SHAPE } from '../import/read-pet.ts';
import { startTable } from '../table.ts';

/** How records are written, a batch at a time. */
export interface RecordFormat<Value> {
  readonly head: string;
  readonly batch: (values: readonly Value[], isFirst: boolean) => string;
  readonly tail: (isEmpty: boolean) => string;
}

/** `array` is one JSON value; the others can be imported. */
type Formats<Value> = Readonly<Record<'ndjson' | 'csv' | 'array', RecordFormat<Value>>>;

const lines = <Value>(head: string, toText: (value: Value) => string): RecordFormat<Value> => ({
  head,
  batch: (values) => values.map((value) => `${toText(value)}\n`).join(''),
  tail: () => '',
});

/** One JSON value, a record a line. */
const jsonArray = <Value>(toJson: (value: Value) => string): RecordFormat<Value> => ({
  head: '[',
  batch: (values, isFirst) => `${isFirst ? '' : ','}\n${values.map(toJson).join(',\n')}`,
  tail: (isEmpty) => (isEmpty ? ']\n' : '\n]\n'),
});

/** None of an order's values needs quotes. */
const orderToCsv = ({ id, petId, quantity, shipDate, complete, status }: OrderText): string =>
  `${id},${petId},${quantity},${shipDate ?? ''},${complete},${status}`;

export const ORDER_FORMATS: Formats<OrderText> = {
  ndjson: lines('', orderWithStatusJson),
  csv: lines(`${ORDER_FIELDS.join(',')}\n`, orderToCsv),
  array: jsonArray(orderWithStatusJson),
};

/** The mark of an import that bytes are not UTF-8; as an escape it is a character like another. */
const REPLACEMENT_CHARACTER = /\ufffd/g;

const petToJson = ({ id, name }: Pet): string =>
  `{"id":${id},"name":${JSON.stringify(name).replace(REPLACEMENT_CHARACTER, '\\ufffd')}}`;

/** @throws CommandError if an import would not read the same name from CSV, which has no escapes */
function petToCsv({ id, name }: Pet): string {
  if (/[\r\ufffd]/.test(name)) {
    throw new CommandError(`the name of pet ${id} has a character that CSV cannot hold; use --format ndjson`);
  }
  const isPlain = name === name.trim() && !/[",\n]/.test(name);
  return `${id},${isPlain ? name : `"${name.replaceAll('"', '""')}"`}`;
}

export const PET_FORMATS: Formats<Pet> = {
  ndjson: lines('', petToJson),
  csv: lines(`${PET_SHAPE.fields.join(',')}\n`, petToCsv),
  array: jsonArray(petToJson),
};

/** @param columns of a person's terminal; `undefined` if there is none */
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

/**
 * Writes records as text, batch by batch, so that any number of them takes the same memory.
 *
 * @param onProgress called with how many have been written
 */
export async function* formatRecords<Value>(
  batches: AsyncIterable<readonly Value[]>,
  format: RecordFormat<Value>,
  onProgress: (count: number) => void,
): AsyncGenerator<string> {
  let count = 0;
  if (format.head !== '') yield format.head;
  for await (const batch of batches) {
    if (batch.length > 0) yield format.batch(batch, count === 0);
    count += batch.length;
    onProgress(count);
  }
  const tail = format.tail(count === 0);
  if (tail !== '') yield tail;
}
