import { ApiError } from '@petstore/api';
import type { Exchange } from './exchange.ts';
import { isEnd, returnEarly, type Streams } from './streams.ts';

/**
 * The lists of one tRPC request. A response that is streamed begins when it is known of each whether it is long: so a
 * request with more long lists than its key may have in flight is refused as a whole, and in time. In a response that is
 * not streamed, those that are too many fail by themselves.
 */
export class TrpcLists {
  readonly #exchange: Exchange;
  readonly #streams: Streams;
  readonly #decided = Promise.withResolvers<void>();
  #undecided: number;
  #isRefused = false;

  /** @param count how many of the request's calls are lists */
  constructor(exchange: Exchange, streams: Streams, count: number) {
    this.#exchange = exchange;
    this.#streams = streams;
    this.#undecided = count;
    if (count === 0) this.#decided.resolve();
  }

  /** To be called for each list that has failed: before it began, or because it was refused. */
  recordFailure(): void {
    this.#decide();
  }

  /** Begins one: see `Context.list`. */
  readonly begin = async <Batch>(batches: AsyncIterable<Batch>): Promise<AsyncIterable<Batch>> => {
    const iterator = batches[Symbol.asyncIterator]();
    const first = iterator.next();
    const { done } = await first;
    const requested = done === true ? [first] : [first, iterator.next()];
    const isShort = done === true || (await isEnd(requested.at(-1) ?? first));
    if (!isShort && !this.#streams.beginLongList(this.#exchange)) {
      returnEarly(iterator);
      this.#isRefused = true;
      throw new ApiError('rate_limit_exceeded');
    }
    this.#decide();
    return replay(iterator, requested);
  };

  /** @returns whether all lists may be sent; otherwise those that have begun end with the body that tRPC made of them */
  async mayBegin(): Promise<boolean> {
    await this.#decided.promise;
    return !this.#isRefused;
  }

  #decide(): void {
    if (--this.#undecided === 0) this.#decided.resolve();
  }
}

/** An iterator whose first results were requested already. */
function replay<Item>(
  iterator: AsyncIterator<Item>,
  requested: readonly Promise<IteratorResult<Item>>[],
): AsyncIterable<Item> {
  let index = 0;
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => requested[index++] ?? iterator.next(),
      return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
    }),
  };
}
