import { Readable } from 'node:stream';
import { type BeginList, type Context, type JsonPiece, refusalOf, type TakeTurn } from '@petstore/api';
import { type ApiKeyId, longListsOfPlan } from '@petstore/domain';
import type { TRPCRequestInfo } from '@trpc/server/http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import pLimit, { type LimitFunction } from 'p-limit';
import type { HttpMetrics } from '../../operations/metrics.ts';
import { principalOf } from '../admission.ts';
import { KeyedSemaphore } from '../concurrency.ts';
import { whenClosed } from '../observe.ts';
import { CallerLeftError, logFailure, sendJson } from '../responses.ts';

/** Sends lists: a short one whole, and a limited number of long ones in pieces, as fast as their clients read. */
export class LongLists {
  readonly #metrics: HttpMetrics;
  readonly #max: number;
  /** Long lists in flight, by key. */
  readonly #ofKeys = new KeyedSemaphore();
  /** By key: when the last turn of the requests for lists as arrays has ended. */
  readonly #turnsOfKeys = new Map<ApiKeyId, Promise<void>>();
  /** Ends the turn of a request. */
  readonly #endTurn = new WeakMap<FastifyRequest, () => void>();
  #openCount = 0;

  /** @param max how many long lists may be sent at once, of all callers together */
  constructor(metrics: HttpMetrics, max: number) {
    this.#metrics = metrics;
    this.#max = max;
  }

  /** The number of long lists being sent. */
  get openCount(): number {
    return this.#openCount;
  }

  /**
   * Begins a long list: one with more than one batch.
   *
   * @throws ApiError `too_many_in_flight` if the key has the maximum in flight; `overloaded` if all callers together have the maximum in flight
   */
  begin(request: FastifyRequest, reply: FastifyReply): void {
    const principal = principalOf(request);
    const release = this.#ofKeys.tryAcquire(principal.keyId, 1, longListsOfPlan(principal.plan));
    if (release === undefined) throw refusalOf('too_many_in_flight');
    whenClosed(reply, release);
    if (this.#openCount >= this.#max) throw refusalOf('overloaded');
    this.#openCount++;
    whenClosed(reply, () => this.#openCount--);
  }

  /** Responds with JSON in pieces. For HEAD no piece is requested, so that no length can be told. */
  async send(request: FastifyRequest, reply: FastifyReply, pieces: AsyncIterable<JsonPiece>): Promise<FastifyReply> {
    // Fastify tells no length of a stream, and of nothing that it is 0, which is not that of GET.
    if (request.method === 'HEAD') return reply.header('content-type', 'application/json').send(Readable.from([]));
    const { first, rest } = await this.#beginList(request, reply, pieces);
    // A text is written together with the headers, in one system call.
    if (first.isLast) return sendJson(reply, first.text);
    const body = Readable.from(textsOf(first, rest), { objectMode: false, highWaterMark: 1 });
    // Fastify then cuts the connection: a client must not take a part for the whole.
    body.once('error', (error) => {
      // If the client has left, nothing is cut. An error before the headers are sent becomes an ordinary error response.
      if (reply.raw.destroyed || !reply.raw.headersSent) return;
      logFailure(request, error);
      this.#metrics.countCut('failed');
    });
    return reply.header('content-type', 'application/json').send(body);
  }

  /** How a list goes over tRPC: in batches, or as one array to a link that does not stream. */
  deliveryOverTrpc(request: FastifyRequest, reply: FastifyReply, info: TRPCRequestInfo): Context['delivery'] {
    if (info.isBatchCall && info.accept === 'application/jsonl') {
      const begin: BeginList = async (batches) => {
        const { first, rest } = await this.#beginList(request, reply, batches);
        return startingWith(first, rest);
      };
      return { type: 'batches', begin };
    }
    let turn: Promise<void> | undefined;
    let held = 0;
    let oneByOne: LimitFunction | undefined; // most calls make no list
    const takeTurn: TakeTurn = (read) => {
      oneByOne ??= pLimit(1);
      return oneByOne(async () => {
        turn ??= this.#takeTurn(request, reply);
        await turn;
        const list = await read(held);
        held += list.length;
        return list;
      });
    };
    return { type: 'array', takeTurn };
  }

  /**
   * Ends the turn of a request, if it has one: the text of its response is made, and its lists are needed no more. Until the
   * response is read would be too long: of two requests on one connection, the first may wait for the turn of the second.
   */
  endTurn(request: FastifyRequest): void {
    this.#endTurn.get(request)?.();
  }

  /** Waits until no earlier request of the key has arrays in memory. */
  async #takeTurn(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { keyId } = principalOf(request);
    const before = this.#turnsOfKeys.get(keyId);
    const { promise: isOver, resolve } = Promise.withResolvers<void>();
    this.#endTurn.set(request, resolve);
    whenClosed(reply, resolve);
    const ended = Promise.all([before, isOver]).then(() => {
      if (this.#turnsOfKeys.get(keyId) === ended) this.#turnsOfKeys.delete(keyId);
    });
    this.#turnsOfKeys.set(keyId, ended);
    await before;
    if (reply.raw.closed) throw new CallerLeftError();
  }

  /** Reads the first batch, which says whether it is the only one; a list of several is long. */
  async #beginList<Batch extends { readonly isLast: boolean }>(
    request: FastifyRequest,
    reply: FastifyReply,
    batches: AsyncIterable<Batch>,
  ) {
    const source = batches[Symbol.asyncIterator]();
    // However the response ends, nobody waits for a batch that was fetched ahead.
    whenClosed(reply, () => void source.return?.().catch(() => {}));
    const { done, value: first } = await source.next();
    // A list that is ended before its first batch has none.
    if (reply.raw.closed) throw new CallerLeftError();
    if (done === true) throw new Error('A list has at least one batch.');
    if (!first.isLast) this.begin(request, reply);
    return { first, rest: { [Symbol.asyncIterator]: () => source } };
  }
}

async function* startingWith<Batch>(first: Batch, rest: AsyncIterable<Batch>): AsyncGenerator<Batch, void, void> {
  yield first;
  yield* rest;
}

async function* textsOf(first: JsonPiece, rest: AsyncIterable<JsonPiece>): AsyncGenerator<string, void, void> {
  for await (const { text } of startingWith(first, rest)) yield text;
}
