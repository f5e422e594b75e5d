import type { ClientClock } from './clock.ts';
import { Deadline } from './deadline.ts';
import { ServiceResponse } from './service-response.ts';
import { type RequestOutcome, Throttle } from './throttle.ts';

export interface RequestSenderOptions {
  readonly apiKey: string;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: ClientClock;
  /** The longest time that a request is held back because the service asked for it, in milliseconds. */
  readonly maxWaitMs: number;
}

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** How long the attempt may take, from when it is sent. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Whether the service does not count it, so that it need not wait. @default false */
  readonly isFree?: boolean | undefined;
  /** How many requests it counts as: the calls of a batch. @default 1 */
  readonly cost?: number | undefined;
}

/** Sends requests under one key, each once: when the {@link Throttle} permits it, and bounded in time. */
export class RequestSender {
  readonly #authorization: string;
  readonly #fetch: typeof globalThis.fetch;
  readonly #clock: ClientClock;
  readonly #throttle: Throttle;

  constructor({ apiKey, fetch, clock, maxWaitMs }: RequestSenderOptions) {
    this.#authorization = `Bearer ${apiKey}`;
    this.#fetch = fetch;
    this.#clock = clock;
    this.#throttle = new Throttle(clock, maxWaitMs);
  }

  /**
   * @returns the response, whatever its status; it has to be read or closed
   * @throws ConnectionError where there is none
   * @throws RateLimitError where the service has asked for a wait that is too long; nothing is sent
   * @throws the signal's reason, when it aborts
   */
  async send(request: HttpRequest): Promise<ServiceResponse> {
    const { method, url, headers, body, timeoutMs, signal, isFree = false, cost = 1 } = request;
    const permit = isFree ? undefined : await this.#throttle.acquire(signal);
    const deadline = new Deadline(this.#clock, timeoutMs, signal);
    deadline.restart();
    let outcome: RequestOutcome = { type: 'unknown' };
    try {
      const init = {
        method,
        headers: { ...headers, authorization: this.#authorization },
        body: body ?? null,
        signal: deadline.signal,
        ...(method !== 'GET' && singleSendOptions()),
      };
      const response = new ServiceResponse(await this.#fetch(url, init), deadline, this.#clock.now());
      outcome = outcomeOf(response, cost);
      return response;
    } catch (error) {
      deadline.end();
      throw deadline.explain(error);
    } finally {
      permit?.release(outcome);
    }
  }
}

function outcomeOf({ status, headers, retryAfterSeconds = 0 }: ServiceResponse, cost: number): RequestOutcome {
  if (status !== 429) return { type: status < 500 ? 'admitted' : 'unknown' };
  // Too much in flight, such as too many long lists: this counts towards no ban, and affects this request alone.
  if (Number(headers.get('x-ratelimit-remaining') ?? 0) >= cost) return { type: 'unknown' };
  return { type: 'refused', waitMs: retryAfterSeconds * 1_000 };
}

/** The part of Deno's own API that is used; other runtimes have none of it. */
interface DenoNamespace {
  readonly createHttpClient?: (options: { readonly poolMaxIdlePerHost: number }) => unknown;
}

let singleSend: RequestInit | undefined;

/**
 * Options of `fetch` for what must not be sent twice unnoticed. When a kept-alive connection breaks, Bun and Deno repeat
 * the request on their own; with these options they take a new connection, and report its end. Node never repeats, and
 * browsers cannot be configured to.
 */
function singleSendOptions(): RequestInit {
  if (singleSend !== undefined) return singleSend;
  const { Deno: deno } = globalThis as { readonly Deno?: DenoNamespace };
  const client = deno?.createHttpClient?.({ poolMaxIdlePerHost: 0 });
  // Bun reads `keepalive` as whether the connection is kept; elsewhere `false` is the default.
  singleSend = { keepalive: false, ...(client !== undefined && { client }) } as RequestInit; // Deno's has a `client`
  return singleSend;
}
