import { Readable } from 'node:stream';
import { longListsOfPlan } from '@petstore/domain';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HttpMetrics } from '../../operations/metrics.ts';
import { principalOf } from '../admission.ts';
import { KeyedSemaphore } from '../concurrency.ts';
import { whenClosed } from '../observe.ts';
import { logFailure, refusalOf, sendJson } from '../responses.ts';

export interface LongListsOptions {
  readonly metrics: HttpMetrics;
  /** The maximum number of long lists being sent at once, of all callers together. */
  readonly maxLongLists: number;
}

/** The name under which the long lists of all callers are counted. */
const ALL_CALLERS = '';

/** Sends lists: a short one whole, and a limited number of long ones in pieces, as fast as their clients read. */
export class LongLists {
  readonly #options: LongListsOptions;
  /** Long lists in flight, including subscriptions, by key. */
  readonly #ofKeys = new KeyedSemaphore();
  readonly #open = new KeyedSemaphore();

  constructor(options: LongListsOptions) {
    this.#options = options;
  }

  /** The number of long lists being sent, without subscriptions. */
  get openCount(): number {
    return this.#open.acquired(ALL_CALLERS);
  }

  /**
   * Counts a long list or a subscription as in flight for its key.
   *
   * @throws ApiError `too_many_in_flight` if the key has the maximum in flight
   */
  beginOfKey(request: FastifyRequest, reply: FastifyReply): void {
    const principal = principalOf(request);
    const release = this.#ofKeys.tryAcquire(principal.keyId, 1, longListsOfPlan(principal.plan));
    if (release === undefined) throw refusalOf('too_many_in_flight');
    whenClosed(reply, release);
  }

  /**
   * Begins a long list: one with more than one batch.
   *
   * @throws ApiError `too_many_in_flight`; `overloaded` if all callers together have the maximum in flight
   */
  begin(request: FastifyRequest, reply: FastifyReply): void {
    this.beginOfKey(request, reply);
    const release = this.#open.tryAcquire(ALL_CALLERS, 1, this.#options.maxLongLists);
    if (release === undefined) throw refusalOf('overloaded');
    whenClosed(reply, release);
  }

  /** Responds with JSON in pieces, at least one. For HEAD no piece is requested. */
  async send(request: FastifyRequest, reply: FastifyReply, chunks: AsyncIterable<string>): Promise<FastifyReply> {
    if (request.method === 'HEAD') return reply.header('content-type', 'application/json').send();
    const { first, isWhole, iterator } = await beginReading(chunks);
    if (first === undefined) throw new Error('JSON that comes in pieces must have at least one.');
    // A text is written together with the headers, in one system call.
    if (isWhole) return sendJson(reply, first);
    this.#beginOrReturn(request, reply, iterator);
    const body = Readable.from(iterator, { objectMode: false, highWaterMark: 1 });
    // Fastify then cuts the connection: a client must not take a part for the whole.
    body.once('error', (error) => {
      // If the client has left, nothing is cut. An error before the headers are sent becomes an ordinary error response.
      if (reply.raw.destroyed || !reply.raw.headersSent) return;
      logFailure(request, error);
      this.#options.metrics.countCut('failed');
    });
    return reply.header('content-type', 'application/json').send(body);
  }

  /** Begins a list over tRPC, for `Context.delivery`. */
  async beginOverTrpc<Batch>(
    request: FastifyRequest,
    reply: FastifyReply,
    batches: AsyncIterable<Batch>,
  ): Promise<AsyncIterable<Batch>> {
    const { isWhole, iterator } = await beginReading(batches);
    if (!isWhole) this.#beginOrReturn(request, reply, iterator);
    return iterator;
  }

  #beginOrReturn(request: FastifyRequest, reply: FastifyReply, iterator: AsyncIterator<unknown>): void {
    try {
      this.begin(request, reply);
    } catch (error) {
      iterator.return?.().catch(() => {}); // a batch that was requested ahead may still be in flight
      throw error;
    }
  }
}

/** Reads as much of a list as shows whether its first batch is its only one. */
async function beginReading<Batch>(batches: AsyncIterable<Batch>) {
  const source = batches[Symbol.asyncIterator]();
  const first = await source.next();
  const read = first.done === true ? [first] : [first, source.next()];
  const isWhole = await isEnd(read.at(-1));
  const iterator: AsyncIterableIterator<Batch> = {
    next: async () => (await read.shift()) ?? source.next(),
    return: async () => (await source.return?.()) ?? { done: true, value: undefined },
    [Symbol.asyncIterator]: () => iterator,
  };
  return { first: first.done === true ? undefined : first.value, isWhole, iterator };
}

/** Whether a result marks the end and is already settled. Waits for nothing. */
async function isEnd(result: IteratorResult<unknown> | Promise<IteratorResult<unknown>> | undefined): Promise<boolean> {
  let isDone = false;
  Promise.resolve(result).then(
    (settled) => {
      isDone = settled?.done === true;
    },
    () => {}, // those who await the result itself get the error
  );
  // Runs after all promises that are already settled have called back.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  return isDone;
}
