import { toRfc3339 } from './time-text.ts';

/** The columns of an order's REST representation, in the order of {@link OrderJsonRow}. */
export const ORDER_JSON_COLUMNS = 'id, pet_id, quantity, ship_date, complete';

export type OrderJsonRow = readonly [
  id: string,
  petId: string,
  quantity: string,
  shipDate: string | null,
  complete: 't' | 'f',
];

/** The REST representation of an order, from the text of its columns. */
export function orderJson([id, petId, quantity, shipDate, complete]: OrderJsonRow): string {
  const date = shipDate === null ? '' : `,"shipDate":"${toRfc3339(shipDate)}"`;
  return `{"id":${id},"petId":${petId},"quantity":${quantity}${date},"complete":${complete === 't'}}`;
}
