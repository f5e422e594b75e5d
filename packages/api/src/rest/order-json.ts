import type { OrderText, OrderTextBatch } from '@petstore/domain';

/** A part of a JSON text. */
export interface JsonPiece {
  readonly text: string;
  readonly isLast: boolean;
}

// The JSON of an order. 64-bit integers are bare digits; an unknown ship date is left out.

/** An order in v1. */
export const orderJson = ({ id, petId, quantity, shipDate, complete }: OrderText): string =>
  `{"id":${id},"petId":${petId},"quantity":${quantity}${shipDateField(shipDate)},"complete":${complete}}`;

/** An order as exports write it: as in v1, with its status. */
export const orderWithStatusJson = ({ id, petId, quantity, shipDate, complete, status }: OrderText): string =>
  `{"id":${id},"petId":${petId},"quantity":${quantity}${shipDateField(shipDate)},"complete":${complete},"status":"${status}"}`;

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
