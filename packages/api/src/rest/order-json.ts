import type { Order, OrderText, OrderTextBatch } from '@petstore/domain';

// The JSON of an order. In v1 64-bit integers are bare digits, which v2 writes as strings; an unknown ship date is left out.

/** An order as v1 has it. */
export const orderJson = (order: OrderText): string => `{"id":${order.id},"petId":${order.petId}${factsOf(order)}}`;

/** The same with its status, as exports have it. */
export const orderWithStatusJson = (order: OrderText): string =>
  `{"id":${order.id},"petId":${order.petId}${factsOf(order)},"status":"${order.status}"}`;

/** An order as v2 has it: ids are strings, which no JSON parser rounds. */
export const orderV2Json = ({ id, petId, quantity, shipDate, complete, status }: Order): string =>
  `{"id":"${id}","petId":"${petId}"${factsOf({ quantity, shipDate: shipDate?.toISOString(), complete })},"status":"${status}"}`;

interface Facts extends Pick<OrderText, 'shipDate' | 'complete'> {
  readonly quantity: number | string;
}

const factsOf = ({ quantity, shipDate, complete }: Facts): string =>
  shipDate === undefined
    ? `,"quantity":${quantity},"complete":${complete}`
    : `,"quantity":${quantity},"shipDate":"${shipDate}","complete":${complete}`;

/** A list as one JSON array, in pieces: of each batch the orders, in the first one `[`, and in the last one `]`. */
export async function* ordersJson(batches: AsyncIterable<OrderTextBatch>): AsyncGenerator<Uint8Array, void, void> {
  let separator = '[';
  for await (const { orders, isLast } of batches) {
    const start = orders.length === 0 && separator === ',' ? '' : separator;
    yield Buffer.from(`${start}${orders.map(orderJson).join()}${isLast ? ']' : ''}`);
    separator = ',';
  }
}
