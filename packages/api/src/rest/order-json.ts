import type { OrderTextBatch as AnyTextBatch, OrderText } from '@petstore/domain';
import type { V1Field } from '../procedures/orders/order-response.ts';

type OrderTextBatch = AnyTextBatch<V1Field>;

/** A part of a JSON text. */
export interface JsonPiece {
  readonly text: string;
  readonly isLast: boolean;
}

/**
 * An order in v1: 64-bit integers are bare digits, and an unknown ship date is left out. It is written out, because it runs
 * for each order of lists of millions; none of its values needs to be escaped.
 */
export const orderJson = ({ id, petId, quantity, shipDate, complete }: OrderText<V1Field>): string =>
  `{"id":${id},"petId":${petId},"quantity":${quantity}${shipDateField(shipDate)},"complete":${complete}}`;

const shipDateField = (shipDate: string | undefined): string =>
  shipDate === undefined ? '' : `,"shipDate":"${shipDate}"`;

/** Orders in a piece of a list. Larger pieces take longer per order, because they do not fit the processor's caches. */
const PIECE = 500;

/**
 * The pieces of the latest batch, because concurrent lists share batches. It is no WeakMap: the engine keeps what such a map
 * refers to until it collects all garbage, which took a tenth of the processor time of a list.
 */
let latest: { readonly batch: OrderTextBatch; readonly pieces: readonly string[] } | undefined;

function piecesOf(batch: OrderTextBatch): readonly string[] {
  if (latest?.batch !== batch) latest = { batch, pieces: batchPieces(batch) };
  return latest.pieces;
}

/** A list as one JSON array, in pieces: the first begins with `[`, and the last ends with `]`. */
export async function* ordersJson(batches: AsyncIterable<OrderTextBatch>): AsyncGenerator<JsonPiece, void, void> {
  let separator = '[';
  for await (const batch of batches) {
    const pieces = piecesOf(batch);
    for (const [i, piece] of pieces.entries()) {
      const isLast = batch.isLast && i === pieces.length - 1;
      yield { text: `${piece === '' && separator === ',' ? '' : separator}${piece}${isLast ? ']' : ''}`, isLast };
      separator = ',';
    }
  }
}

/** The orders of a batch as JSON, separated by commas: at least one piece, which is empty if there are no orders. */
function batchPieces({ orders }: OrderTextBatch): readonly string[] {
  const pieces: string[] = [];
  let piece: string[] = [];
  for (const order of orders) {
    if (piece.length === PIECE) {
      pieces.push(piece.join());
      piece = [];
    }
    piece.push(orderJson(order));
  }
  return [...pieces, piece.join()];
}
