import type { SubscriptionContext } from '@petstore/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AppOptions } from '../app-options.ts';
import { observeServed, whenClosed } from '../observe.ts';
import { refusalOf } from '../responses.ts';
import type { LongLists } from './long-lists.ts';

export interface SubscriptionOptions extends Pick<AppOptions, 'keyWatch' | 'metrics'> {
  readonly longLists: LongLists;
  /** The maximum number of subscriptions at once, of all callers together. */
  readonly maxSubscriptions: number;
}

interface Begun {
  readonly context: SubscriptionContext;
  /** The id of the event after which the subscription begins, once it is known. */
  after: string | undefined;
}

/**
 * Responses that last until their client leaves, its key becomes invalid, or the server stops. The connection is then cut
 * without the message that ends a subscription in tRPC: after that message a client never connects again, but after a lost
 * connection it does.
 */
export class Subscriptions {
  readonly #options: SubscriptionOptions;
  readonly #begun = new WeakMap<FastifyRequest, Begun>();
  /** A function for each open subscription that ends it. They do not count as requests in flight. */
  readonly #cuts = new Set<() => void>();
  #isClosed = false;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
  }

  /** @throws ApiError `too_many_in_flight`, `overloaded` */
  begin(request: FastifyRequest, reply: FastifyReply): void {
    const { longLists, maxSubscriptions } = this.#options;
    longLists.beginOfKey(request, reply);
    if (this.#isClosed || this.#cuts.size >= maxSubscriptions) throw refusalOf('overloaded');
    // It is counted here from now on, and no longer among the requests in flight.
    request.admission?.release();
    const ending = new AbortController();
    const cut = () => void reply.raw.destroy();
    const unwatch = this.#options.keyWatch.watch(request.headers.authorization, request.admission?.principal, cut);
    const begun: Begun = {
      after: undefined,
      context: {
        signal: ending.signal,
        onBegin(after) {
          begun.after = after;
        },
      },
    };
    this.#begun.set(request, begun);
    this.#cuts.add(cut);
    whenClosed(reply, () => {
      unwatch();
      this.#cuts.delete(cut);
      ending.abort();
    });
  }

  /** The context for the procedure; `undefined` if the request is not for a subscription. */
  contextOf(request: FastifyRequest): SubscriptionContext | undefined {
    return this.#begun.get(request)?.context;
  }

  /** For an `onSend` hook: sends the events of a response. From then on the request counts as served. */
  send(request: FastifyRequest, reply: FastifyReply, { body }: Response): ReadableStream<Uint8Array> | null {
    observeServed(reply, this.#options.metrics);
    return body?.pipeThrough(wholeMessages(this.#begun.get(request)?.after)) ?? null;
  }

  /** Ends all subscriptions, and refuses later ones. */
  close(): void {
    this.#isClosed = true;
    for (const cut of this.#cuts) cut();
  }
}

const LINE_FEED = 10;

/**
 * Joins the parts in which tRPC sends a server-sent event: each message is one piece, and is written at once.
 *
 * @param after written as the id of the second message: a client that loses the connection before the first event
 *   continues from there
 */
function wholeMessages(after: string | undefined): TransformStream<Uint8Array, Uint8Array> {
  let position = after === undefined ? undefined : Buffer.from(`event: ping\ndata: \nid: ${after}\n\n`);
  let parts: Uint8Array[] = [];
  return new TransformStream({
    transform(part, controller) {
      parts.push(part);
      if (part.at(-1) !== LINE_FEED || part.at(-2) !== LINE_FEED) return;
      if (position !== undefined) parts.push(position);
      position = undefined;
      controller.enqueue(Buffer.concat(parts));
      parts = [];
    },
  });
}
