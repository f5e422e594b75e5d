import type { Authenticator, SubscriptionContext } from '@petstore/api';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { InFlightCounts } from '../in-flight-counts.ts';
import { refusalOf } from '../plugins/errors.ts';
import { KeyWatch } from './key-watch.ts';
import type { LongLists } from './long-lists.ts';

export interface SubscriptionOptions {
  readonly longLists: LongLists;
  readonly authenticator: Pick<Authenticator, 'identifyAnew'>;
  /** How many there may be at once, those of all callers together. */
  readonly maxSubscriptions: number;
}

/** By which the subscriptions of all callers are counted. */
const ALL_CALLERS = '';

interface Begun {
  readonly context: SubscriptionContext;
  /** The id of the event behind which it begins, once that is known. */
  after: string | undefined;
}

/**
 * Responses that go on until their client leaves, its key is no longer valid, or the server ends. The connection is then cut
 * without the message by which tRPC ends a subscription: a client takes that message to mean that no event will ever follow,
 * and a lost connection as a reason to connect again.
 */
export class Subscriptions {
  readonly #options: SubscriptionOptions;
  readonly #open = new InFlightCounts();
  readonly #keys: KeyWatch;
  readonly #begun = new WeakMap<FastifyRequest, Begun>();
  /** Ends each that is open. */
  readonly #cuts = new Set<() => void>();
  #isClosed = false;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
    this.#keys = new KeyWatch(options.authenticator);
  }

  /** How many there are. They are no requests in flight. */
  get openCount(): number {
    return this.#open.of(ALL_CALLERS);
  }

  /** @throws ApiError `rate_limit_exceeded`, `overloaded` */
  begin(request: FastifyRequest, reply: FastifyReply): void {
    const { longLists, maxSubscriptions } = this.#options;
    longLists.beginOfKey(request, reply);
    const release = this.#isClosed ? undefined : this.#open.take(ALL_CALLERS, 1, maxSubscriptions);
    if (release === undefined) throw refusalOf('overloaded');
    const ending = new AbortController();
    const cut = () => void reply.raw.destroy();
    const unwatch = this.#keys.watch(request.headers.authorization, request.principal, cut);
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
    reply.whenClosed(() => {
      release();
      unwatch();
      this.#cuts.delete(cut);
      ending.abort();
    });
  }

  /** What the procedure is given; `undefined` if the request is for no subscription. */
  contextOf(request: FastifyRequest): SubscriptionContext | undefined {
    return this.#begun.get(request)?.context;
  }

  /** In an `onSend` hook: sends the events of a response. The request is served from here on. */
  send(request: FastifyRequest, reply: FastifyReply, { body }: Response): ReadableStream<Uint8Array> | null {
    reply.countServed();
    return body?.pipeThrough(wholeMessages(this.#begun.get(request)?.after)) ?? null;
  }

  /** Ends all of them; those that come later are refused. */
  close(): void {
    this.#isClosed = true;
    for (const cut of this.#cuts) cut();
  }
}

const LINE_FEED = 10;

/**
 * One piece for each message of server-sent events, which tRPC sends in parts, so that a message is written at once.
 *
 * @param after written as the id of the second message, so that a client that loses the connection before the first event
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
