import type { PetstoreError } from '../errors.ts';
import type { CallOptions } from '../options.ts';
import { connectionError } from '../transport/attempt.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import type { components } from './document.ts';
import type { components as componentsOfV2, operations } from './document-v2.ts';
import { parseInt64Objects } from './int64-json.ts';

/** An order over REST. The document guarantees none of its fields. */
export type Order = components['schemas']['Order'];

/** An order over v2 of REST. */
export type OrderV2 = componentsOfV2['schemas']['OrderV2'];

/** Selects and sorts orders. `limit` is per request, 100 by default, 1,000 at most. */
export type OrderFilter = Omit<NonNullable<operations['listOrdersPage']['parameters']['query']>, 'cursor'>;

/** Orders, sorted by id. Nothing is requested before they are read, and each iteration starts again. */
export interface OrderList<Item = Order> extends AsyncIterable<Item> {
  /** Reads all of them into memory. Unlike an iteration, this is retried if a response breaks off. */
  toArray(): Promise<Item[]>;
}

/** @param batches reads the orders again; `streams`: whether its reader takes them as they arrive */
export function listOf<Item>(
  batches: (streams: boolean) => AsyncIterable<Item[]>,
  options?: CallOptions,
): OrderList<Item> {
  return {
    async *[Symbol.asyncIterator]() {
      for await (const batch of batches(true)) {
        for (const item of batch) {
          yield item;
          options?.signal?.throwIfAborted(); // orders that have arrived are then dropped
        }
      }
    },
    async toArray() {
      const all: Item[] = [];
      for await (const batch of batches(false)) for (const item of batch) all.push(item);
      return all;
    },
  };
}

/** An array that has begun: its first element stands for all objects read so far. */
const BEGUN = '[{}';

/** The maximum length of an object, in UTF-16 code units: far more than that of an order. */
const OBJECT_LENGTH_MAX = 100_000;

/**
 * Reads the objects of a JSON array as they arrive. It keeps no more than the beginning of one object.
 *
 * @throws PetstoreError if the response ends before the array, or is no array of such objects: those read so far are not
 * all
 */
export async function* readBatches<Item extends object>(
  response: ServiceResponse,
  texts: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<Item[], void, undefined> {
  let rest = '';
  let begun = 0;
  for await (const text of texts) {
    const isTooLong = rest.length > OBJECT_LENGTH_MAX;
    rest += text;
    if (/^\s*[^\s[]/.test(rest)) throw notExpected(response);
    const end = rest.lastIndexOf('}') + 1;
    const batch = tryParse<Item>(`${rest.slice(0, end)}]`);
    if (batch === undefined) {
      if (isTooLong) throw notExpected(response);
      continue; // that bracket was inside an object or a text, or there is none: more data is needed
    }
    rest = BEGUN + rest.slice(end);
    yield batch.slice(begun);
    begun = 1;
  }
  if (!rest.trimEnd().endsWith(']')) throw connectionError(response);
  readObjects(rest, response);
}

function tryParse<Item extends object>(text: string): Item[] | undefined {
  try {
    return parseInt64Objects<Item>(text);
  } catch {
    return undefined;
  }
}

/** @throws PetstoreError if the text is not a JSON array of objects */
export function readObjects<Item extends object>(
  text: string,
  response: ServiceResponse,
  parse: (text: string) => Item[] = parseInt64Objects<Item>,
): Item[] {
  try {
    return parse(text);
  } catch (cause) {
    throw notExpected(response, cause);
  }
}

const notExpected = (response: ServiceResponse, cause?: unknown): PetstoreError =>
  response.createError('The response is not the JSON that it should be.', undefined, cause);

/**
 * Reads a list page by page, each when it is needed.
 *
 * @param items the field of a page that holds the items
 * @param request sends a query
 * @param read reads that field; what it throws means that the page is not as it should be
 */
export async function* readPages<Item>(
  items: string,
  filter: object,
  request: (query: string) => Promise<ServiceResponse>,
  read: (values: unknown) => Item[],
): AsyncGenerator<Item[], void, undefined> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const response = await request(queryOf({ ...filter, ...(cursor !== undefined && { cursor }) }));
    const page = readPage(response, items, read);
    yield page.items;
    cursor = page.next;
  }
}

function readPage<Item>(
  response: ServiceResponse,
  items: string,
  read: (values: unknown) => Item[],
): { readonly items: Item[]; readonly next: string | null } {
  try {
    const { [items]: found, next }: Readonly<Record<string, unknown>> = JSON.parse(response.text);
    // Without the field, what is a part would be taken for all.
    if (typeof next !== 'string' && next !== null) throw new TypeError('next is missing');
    return { items: read(found), next };
  } catch (cause) {
    throw notExpected(response, cause);
  }
}

function queryOf(parameters: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.append(name, String(value));
  return `?${query}`;
}
