import { longListsOfPlan } from '@petstore/domain';
import type { Logger } from 'pino';
import { PacedWriter, type ReaderBounds } from './edge/slow-reader.ts';
import type { Exchange } from './exchange.ts';
import { InFlightCounts } from './in-flight.ts';
import { JSON_TYPE } from './response-headers.ts';

export interface StreamOptions {
  readonly logger: Logger;
  readonly bounds: ReaderBounds & { readonly maxStreams: number };
}

type Chunks = AsyncIterator<Uint8Array, unknown, undefined>;
type Result = ReturnType<Chunks['next']>;

/** By which the streams of all callers are counted. */
const ALL_CALLERS = '';

/** Sends responses in pieces: so many at a time, and each as fast as its client reads. */
export class Streams {
  readonly #options: StreamOptions;
  /** Long lists in flight, by key. */
  readonly #longLists = new InFlightCounts();
  /** Those of them that are being sent, all together. */
  readonly #open = new InFlightCounts();

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  /** Responses that are being sent in pieces. */
  get openCount(): number {
    return this.#open.of(ALL_CALLERS);
  }

  /** Begins a list that goes beyond its first batch. @returns false where the key has as many in flight as it may */
  beginLongList({ isOver, principal, held }: Exchange): boolean {
    if (isOver || principal?.type !== 'api-key') return false;
    return held.take(this.#longLists, principal.keyId, 1, longListsOfPlan(principal.plan));
  }

  /**
   * Responds with JSON that comes in pieces. A single piece is sent whole, with its length; several are sent as they
   * come. For HEAD none is requested.
   */
  async sendJson(exchange: Exchange, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    if (exchange.isHead) return exchange.sendHead(200, JSON_TYPE);
    const iterator = chunks[Symbol.asyncIterator]();
    const first = iterator.next();
    const { done, value } = await first;
    if (done === true) throw new Error('JSON that comes in pieces must have at least one.');
    const second = iterator.next();
    if (await isEnd(second)) return exchange.sendBytes(200, JSON_TYPE, value);
    if (!this.beginLongList(exchange)) exchange.refuseCrowded();
    else if (await this.send(exchange, { status: 200, contentType: JSON_TYPE }, iterator, first, second)) return;
    returnEarly(iterator);
  }

  /**
   * Sends chunks as they come, and requests none while the client does not read. Ends them when the client is gone. Where
   * they fail midway, or the client is too slow, the connection is cut, so that a part is never taken for the whole.
   *
   * @param requested results that were requested already, in order
   * @returns false where nothing was requested, because the client is gone or there are too many streams
   */
  async send(
    exchange: Exchange,
    { status, contentType }: { readonly status: number; readonly contentType: string },
    iterator: Chunks,
    ...requested: readonly Result[]
  ): Promise<boolean> {
    const { response } = exchange;
    const { maxStreams } = this.#options.bounds;
    if (exchange.isOver) return false;
    if (response.destroyed) {
      exchange.sendHead(status, contentType);
      return false;
    }
    if (!exchange.held.take(this.#open, ALL_CALLERS, exchange.held.count(this.#longLists), maxStreams)) {
      exchange.refuse('overloaded');
      return false;
    }
    exchange.beginBody(status, contentType);
    await this.#sendBody(exchange, iterator, requested);
    return true;
  }

  /** Sends a response that goes on for as long as its reader wants, each chunk as it comes. */
  async sendLasting(exchange: Exchange, contentType: string, iterator: Chunks): Promise<void> {
    exchange.beginLastingBody(200, contentType);
    await this.#sendBody(exchange, iterator, []);
  }

  async #sendBody(exchange: Exchange, iterator: Chunks, requested: readonly Result[]): Promise<void> {
    const { response } = exchange;
    try {
      const isTaken = await this.#write(exchange, iterator, requested);
      if (isTaken || response.destroyed) exchange.endBody();
      else this.#cutSlowReader(exchange);
    } catch (error) {
      // Of a client that is gone nothing is left to fail.
      if (response.destroyed) exchange.endBody();
      else {
        exchange.logFailure(error);
        exchange.cutBody('failed');
      }
    }
  }

  /** @returns whether the client took all of it */
  async #write({ response }: Exchange, iterator: Chunks, requested: readonly Result[]): Promise<boolean> {
    const writer = new PacedWriter(response, this.#options.bounds);
    for (let i = 0; ; i++) {
      const { done, value } = await (requested[i] ?? iterator.next());
      if (done === true) return true;
      if (await writer.write(value)) continue;
      await iterator.return?.();
      return false;
    }
  }

  #cutSlowReader(exchange: Exchange): void {
    this.#options.logger.info(exchange.logFields, 'a response was cut: its reader was too slow');
    exchange.cutBody('slow_reader');
  }
}

/** Ends an iterator of which no more is read. What was fetched ahead may still be in flight, and is not waited for. */
export function returnEarly(iterator: AsyncIterator<unknown>): void {
  iterator.return?.().catch(() => {});
}

/** Whether a result is the end and there already, so that nothing is waited for. */
export async function isEnd(result: Promise<IteratorResult<unknown, unknown>>): Promise<boolean> {
  let isDone = false;
  result.then(
    ({ done }) => {
      isDone = done === true;
    },
    () => {}, // it rejects for those who await the result itself
  );
  // Runs after everything that can be settled without waiting is settled.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  return isDone;
}
