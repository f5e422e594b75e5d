import type { Authenticator, SubscriptionContext } from '@petstore/api';
import type { Exchange } from './exchange.ts';
import { InFlightCounts } from './in-flight.ts';
import { KeyWatch } from './key-watch.ts';
import type { Streams } from './streams.ts';

export interface SubscriptionOptions {
  readonly streams: Streams;
  readonly authenticator: Pick<Authenticator, 'identifyAnew'>;
  readonly maxSubscriptions: number;
}

/** By which the subscriptions of all callers are counted. */
const ALL_CALLERS = '';

/** Makes the response of a subscription. */
type BeginSubscription = (subscription: SubscriptionContext) => Promise<Response>;

const EVENT_STREAM = 'text/event-stream';

/**
 * Responses that go on until their client leaves, its key is no longer valid, or the server ends. They end without an
 * error, so that a client takes it for a lost connection and goes on elsewhere.
 */
export class Subscriptions {
  readonly #options: SubscriptionOptions;
  readonly #open = new InFlightCounts();
  readonly #keys: KeyWatch;
  readonly #endings = new Set<AbortController>();
  #isClosed = false;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
    this.#keys = new KeyWatch(options.authenticator);
  }

  async send(exchange: Exchange, begin: BeginSubscription): Promise<void> {
    const { streams, maxSubscriptions } = this.#options;
    if (!streams.beginLongList(exchange)) return exchange.refuseCrowded();
    if (this.#isClosed || !exchange.held.take(this.#open, ALL_CALLERS, 1, maxSubscriptions)) {
      return exchange.refuse('overloaded');
    }
    const ending = new AbortController();
    const end = () => ending.abort();
    this.#endings.add(ending);
    exchange.response.once('close', end);
    const unwatch = this.#keys.watch(exchange.request.headers.authorization, exchange.principal, end);
    try {
      let after: string | undefined;
      const onBegin = (position: string) => {
        after = position;
      };
      const response = await begin({ signal: ending.signal, onBegin });
      await this.#respond(exchange, response, { after, signal: ending.signal });
    } finally {
      unwatch();
      this.#endings.delete(ending);
      end();
    }
  }

  /** Ends all of them; those that come later are refused. */
  close(): void {
    this.#isClosed = true;
    for (const ending of this.#endings) ending.abort();
  }

  async #respond(exchange: Exchange, response: Response, beginning: Beginning): Promise<void> {
    const { status, headers, body } = response;
    let contentType = '';
    for (const [name, value] of headers) {
      if (name === 'content-type') contentType = value;
      // Node decides on the connection by itself.
      else if (name !== 'connection') exchange.setHeader(name, value);
    }
    // A request that tRPC refuses, as one for another form of response.
    if (!contentType.startsWith(EVENT_STREAM)) exchange.sendText(status, contentType, await response.text());
    else if (body === null || exchange.isHead || exchange.isOver || beginning.signal.aborted) {
      exchange.sendHead(status, contentType);
      await body?.cancel();
    } else await this.#options.streams.sendLasting(exchange, contentType, messagesOf(body, beginning));
  }
}

interface Beginning {
  /** The id of the event behind which a subscription begins; `undefined` where it does not begin. */
  readonly after: string | undefined;
  /** Ends it. The signal of a `Request` may be lost to garbage collection. */
  readonly signal: AbortSignal;
}

const LINE_FEED = 10;

/**
 * One piece for each message of server-sent events, which comes in parts, so that a message is written at once. The second
 * one says by its id where the subscription begins: a client that loses the connection before
 * the first event then goes on there.
 */
async function* messagesOf(
  body: ReadableStream<Uint8Array>,
  { after, signal }: Beginning,
): AsyncGenerator<Uint8Array, undefined> {
  const reader = body.getReader();
  const cancel = () => void reader.cancel().catch(() => {}); // no reader is left
  signal.addEventListener('abort', cancel, { once: true });
  try {
    let position = after === undefined ? undefined : Buffer.from(`event: ping\ndata: \nid: ${after}\n\n`);
    let parts: Uint8Array[] = [];
    for (let { value } = await reader.read(); value !== undefined; { value } = await reader.read()) {
      parts.push(value);
      if (value.at(-1) !== LINE_FEED || value.at(-2) !== LINE_FEED) continue;
      if (position !== undefined) parts.push(position);
      position = undefined;
      yield Buffer.concat(parts);
      parts = [];
    }
  } finally {
    signal.removeEventListener('abort', cancel);
    cancel();
  }
}
