import type { Order } from '@petstore/domain';
import { ORDER_FIELDS } from '../import/read-order.ts';

export const ORDER_CSV_HEADER = ORDER_FIELDS.join(',');

/** None of an order's values needs quotes. */
export const orderToCsv = ({ id, petId, quantity, shipDate, complete, status }: Order): string =>
  `${id},${petId},${quantity},${shipDate?.toISOString() ?? ''},${complete},${status}`;

const ID_WIDTH = 20;
const COLUMNS = ['id', 'petId', 'quantity', 'shipDate', 'complete', 'status'] as const;

const row = ([id = '', petId = '', quantity = '', shipDate = '', complete = '', status = '']: readonly string[]) =>
  `${id.padStart(ID_WIDTH)}  ${petId.padStart(ID_WIDTH)}  ${quantity.padStart(10)}  ${shipDate.padEnd(24)}  ${complete.padEnd(8)}  ${status}`;

/** For a person: columns of fixed width, because later rows are not known yet. */
export const ORDER_TABLE_HEADER = row(COLUMNS);

export const orderToTableRow = ({ id, petId, quantity, shipDate, complete, status }: Order): string =>
  row([`${id}`, `${petId}`, `${quantity}`, shipDate?.toISOString() ?? '-', complete ? 'yes' : 'no', status]);
