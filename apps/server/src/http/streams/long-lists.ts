import { Readable } from 'node:stream';
import { longListsOfPlan } from '@petstore/domain';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RequestMetrics } from '../app-options.ts';
import { InFlightCounts } from '../in-flight-counts.ts';
import { logFailure, refusalOf } from '../plugins/errors.ts';
import { sendJson } from '../send-json.ts';

export interface LongListsOptions {
  readonly metrics: RequestMetrics;
  /** How many long lists may be sent at once, those of all callers together. */
  readonly maxLongLists: number;
}

/** By which the long lists of all callers are counted. */
const ALL_CALLERS = '';

/** Sends lists: a short one whole, a long one in pieces, as fast as its client reads, and only so many at a time. */
export class LongLists {
  readonly #options: LongListsOptions;
  /** Long lists in flight, subscriptions included, by key. */
  readonly #ofKeys = new InFlightCounts();
  readonly #open = new InFlightCounts();

  constructor(options: LongListsOptions) {
    this.#options = options;
  }

  /** How many long lists are being sent, subscriptions not included. */
  get openCount(): number {
    return this.#open.of(ALL_CALLERS);
  }

  /**
   * Counts a long list, or a subscription, among those that its key has in flight.
   *
   * @throws ApiError `rate_limit_exceeded` if they are as many as there may be
   */
  beginOfKey({ principal }: FastifyRequest, reply: FastifyReply): void {
    if (principal === undefined) throw new Error('A list was to be sent without a principal.');
    const release = this.#ofKeys.take(principal.keyId, 1, longListsOfPlan(principal.plan));
    if (release === undefined) throw refusalOf('rate_limit_exceeded');
    reply.whenClosed(release);
  }

  /**
   * Begins a long list: one that goes beyond its first batch.
   *
   * @throws ApiError `rate_limit_exceeded`, and `overloaded` for too many of all callers
   */
  begin(request: FastifyRequest, reply: FastifyReply): void {
    this.beginOfKey(request, reply);
    const release = this.#open.take(ALL_CALLERS, 1, this.#options.maxLongLists);
    if (release === undefined) throw refusalOf('overloaded');
    reply.whenClosed(release);
  }

  /** Responds with JSON that comes in pieces, at least one. For HEAD none is requested. */
  async send(request: FastifyRequest, reply: FastifyReply, chunks: AsyncIterable<string>): Promise<FastifyReply> {
    if (request.method === 'HEAD') return reply.header('content-type', 'application/json').send();
    const { first, isWhole, iterator } = await beginReading(chunks);
    if (first === undefined) throw new Error('JSON that comes in pieces must have at least one.');
    // A text is written together with the headers, in one system call.
    if (isWhole) return sendJson(reply, first);
    this.#beginOrReturn(request, reply, iterator);
    const body = Readable.from(iterator, { objectMode: false, highWaterMark: 1 });
    // Fastify then cuts the connection, so that a part is never taken for the whole.
    body.once('error', (error) => {
      // Of a client that has left nothing is left to fail, and what fails before it is sent is an error like any other.
      if (reply.raw.destroyed || !reply.raw.headersSent) return;
      logFailure(request, error);
      this.#options.metrics.countCut('failed');
    });
    return reply.header('content-type', 'application/json').send(body);
  }

  /** Begins a list over tRPC, as its `Context.delivery` does. */
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
      iterator.return?.().catch(() => {}); // what was fetched ahead may still be in flight, and is not waited for
      throw error;
    }
  }
}

/** Reads so much of a list that it is known whether its first batch is all of it. */
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

/** Whether a result is the end and there already, so that nothing is waited for. */
async function isEnd(result: IteratorResult<unknown> | Promise<IteratorResult<unknown>> | undefined): Promise<boolean> {
  let isDone = false;
  Promise.resolve(result).then(
    (settled) => {
      isDone = settled?.done === true;
    },
    () => {}, // it rejects for those who await the result itself
  );
  // Runs after everything that can be settled without waiting is settled.
  await new Promise<void>((resolve) => process.nextTick(resolve));
  return isDone;
}
