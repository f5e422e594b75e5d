import type { ServiceResponse } from '../transport/service-response.ts';
import type { components } from './document.ts';
import { parseInt64Objects } from './int64-json.ts';
import { JsonArraySplitter } from './json-array-splitter.ts';

/** An order as the REST interface shows it. The document promises none of its fields. */
export type Order = components['schemas']['Order'];

/**
 * All orders, ascending by id. Nothing is requested before the list is read, and each reading is a request of its own.
 */
export interface OrderList extends AsyncIterable<Order> {
  /** Reads all orders into memory. Unlike reading one by one, this is tried again when the response breaks off. */
  toArray(): Promise<Order[]>;
}

/**
 * Reads the orders of a response as they arrive, in batches. Holds one batch at a time.
 *
 * @throws PetstoreError where the response ends before the list does, or is no list: what was read before is not the whole
 */
export async function* readOrderBatches(response: ServiceResponse): AsyncGenerator<readonly Order[], void, undefined> {
  const splitter = new JsonArraySplitter();
  const decoder = new TextDecoder();
  try {
    for (let chunk = await response.readChunk(); chunk !== undefined; chunk = await response.readChunk()) {
      const orders = parseElements(response, splitter, decoder.decode(chunk, { stream: true }));
      if (orders.length > 0) yield orders;
    }
    if (splitter.isComplete) return;
    throw response.createBrokenOffError();
  } finally {
    response.close();
  }
}

function parseElements(response: ServiceResponse, splitter: JsonArraySplitter, text: string): readonly Order[] {
  try {
    const elements = splitter.push(text);
    return elements === '' ? [] : parseInt64Objects<Order>(`[${elements}]`);
  } catch (cause) {
    throw response.createError('The list of orders is not the JSON that it should be.', undefined, cause);
  }
}

/**
 * Orders that have arrived, one by one, until their reader aborts.
 *
 * @throws the reason of the signal, also after the last one
 */
export function* takeUntilAborted<Item>(
  orders: readonly Item[],
  signal: AbortSignal | undefined,
): Generator<Item, void> {
  for (const order of orders) {
    yield order;
    signal?.throwIfAborted();
  }
}

/** Reads all orders of a response. */
export async function readAllOrders(response: ServiceResponse): Promise<Order[]> {
  const all: Order[] = [];
  for await (const orders of readOrderBatches(response)) {
    for (const order of orders) all.push(order);
  }
  return all;
}
