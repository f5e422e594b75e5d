import { type ClientClock, systemClock } from './transport/clock.ts';
import { RequestSender } from './transport/request-sender.ts';
import { RetryLoop } from './transport/retry-loop.ts';

export interface PetstoreClientOptions {
  /** Where the service is: its origin, such as `https://api.petstore.example`, or its REST address, which ends in `/v1`. */
  readonly baseUrl: string | URL;
  /** Sent as the bearer token. Placing, shipping and completing orders takes an internal key. */
  readonly apiKey: string;
  /** How often a call is tried again where that may help, 0 to 10. @default 2 */
  readonly maxRetries?: number | undefined;
  /**
   * How long one attempt may take, in milliseconds, at least 1. For a list: until it begins, and from one chunk to the
   * next. @default 30000
   */
  readonly timeoutMs?: number | undefined;
  /**
   * The longest wait that is accepted where the service asks for one (`Retry-After`), in seconds. Where it asks for a
   * longer one, calls fail at once. 0: calls never wait for it. @default 65
   */
  readonly maxRetryAfterSeconds?: number | undefined;
  /** @default the global one */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** For tests. @default the real time */
  readonly clock?: ClientClock | undefined;
  /** For tests: from 0 up to, but not including, 1. @default Math.random */
  readonly random?: (() => number) | undefined;
}

/** What the REST client and the tRPC client are made of. */
export interface Connection {
  /** The service's address, without `/v1` and without a slash at its end. */
  readonly serviceUrl: string;
  readonly timeoutMs: number;
  readonly retries: RetryLoop;
  readonly sender: RequestSender;
}

/** @throws TypeError when an option is not valid */
export function createConnection(options: PetstoreClientOptions): Connection {
  const { clock = systemClock, random = Math.random } = options;
  const maxRetryAfterSeconds = checkedNumber('maxRetryAfterSeconds', options.maxRetryAfterSeconds ?? 65, 0);
  const maxRetries = checkedMaxRetries(options.maxRetries ?? 2);
  return {
    serviceUrl: serviceUrlOf(options.baseUrl),
    timeoutMs: checkedTimeoutMs(options.timeoutMs ?? 30_000),
    retries: new RetryLoop({ maxRetries, maxRetryAfterSeconds, random }, clock),
    sender: new RequestSender({
      apiKey: checkedKey(options.apiKey),
      // Looked up at each request, so that a global one that is replaced later takes effect.
      fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
      clock,
      maxWaitMs: maxRetryAfterSeconds * 1_000,
    }),
  };
}

/** @throws TypeError */
export const checkedMaxRetries = (value: number): number => {
  if (Number.isInteger(value) && value >= 0 && value <= 10) return value;
  throw new TypeError('maxRetries must be a whole number from 0 to 10');
};

/** @throws TypeError */
export const checkedTimeoutMs = (value: number): number => checkedNumber('timeoutMs', value, 1);

function checkedNumber(name: string, value: number, min: number): number {
  if (typeof value === 'number' && value >= min) return value;
  throw new TypeError(`${name} must be a number, at least ${min}`);
}

function serviceUrlOf(baseUrl: string | URL): string {
  const text = baseUrl.toString();
  if (!URL.canParse(text) || !/^https?:/i.test(text)) {
    throw new TypeError('baseUrl must be an http or https address, such as https://api.petstore.example');
  }
  const { origin, pathname } = new URL(text);
  const whole = pathname.replace(/\/+$/, '');
  const path = /\/(?:v\d+(?:\/(?:store|pets)(?:\/.*)?)?|trpc)$/i.exec(whole)?.[0] ?? '';
  const service = origin + whole.slice(0, whole.length - path.length);
  if (path === '' || path === '/v1') return service;
  throw new TypeError(`baseUrl must not end in ${path}: use ${service}, or ${service}/v1 (v2 is \`client.v2\`)`);
}

function checkedKey(apiKey: string): string {
  if (apiKey === undefined || apiKey === '') throw new TypeError('apiKey must be given: it is empty or missing');
  if (typeof apiKey === 'string' && /^[\x21-\x7e]+$/.test(apiKey)) return apiKey;
  throw new TypeError('apiKey must be an API key, which contains no spaces');
}
