import type { ReportedLimits } from './transport/reported-limits.ts';

/** Options of a client that each of its calls may override. */
interface AttemptOptions {
  /** How often a failed call is retried if a retry may help, 0 to 10. @default 2; for a call, that of the client */
  readonly maxRetries?: number | undefined;
  /**
   * How long the service may be silent in an attempt, in milliseconds, at least 1: until its response begins, and then
   * between two pieces of it. @default 30000; for a call, that of the client
   */
  readonly timeoutMs?: number | undefined;
}

export interface CallOptions extends AttemptOptions {
  /** Ends the call; it then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

export interface PetstoreClientOptions extends AttemptOptions {
  /** The service's origin, such as `https://api.petstore.example`, or its REST address, which ends in `/v1`. */
  readonly baseUrl: string | URL;
  /** Sent as the bearer token. Placing, shipping and completing orders requires an internal key. */
  readonly apiKey: string;
  /**
   * The longest wait that a call accepts if the service asks for one (`Retry-After`), in seconds. If the service asks for a
   * longer wait, calls fail at once. 0: calls never wait for it. @default 65
   */
  readonly maxRetryAfterSeconds?: number | undefined;
  /**
   * Called with what is left of the limits, for each response that tells it, errors included. No call waits for it. If it
   * throws, calls go on all the same, and the error is an uncaught exception of the program.
   */
  readonly onLimits?: ((limits: ReportedLimits) => void) | undefined;
  /** It must resolve to a `Response` whose body is a web stream, or null. @default the global `fetch` */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** The options, all present and valid. */
export type CheckedOptions = {
  readonly [Name in keyof Omit<PetstoreClientOptions, 'baseUrl'>]-?: NonNullable<PetstoreClientOptions[Name]>;
} & {
  /** The address without `/v1` and without a slash at its end. */
  readonly serviceUrl: string;
};

/** @throws TypeError if an option is not valid */
export function checkOptions(options: PetstoreClientOptions): CheckedOptions {
  if (!options) throw new TypeError('options must be given, with baseUrl and apiKey');
  const {
    baseUrl,
    apiKey,
    maxRetries = 2,
    timeoutMs = 30_000,
    maxRetryAfterSeconds = 65,
    onLimits = () => {},
  } = options;
  // The global `fetch` is looked up at each request: one that replaces it later takes effect.
  const { fetch = (url, init) => globalThis.fetch(url, init) } = options;
  // The key is not shown: messages end up in logs.
  if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new TypeError('apiKey must be an API key as it was given out, without blanks and without "Bearer"');
  }
  checkCallOptions({ maxRetries, timeoutMs });
  checkNumber('maxRetryAfterSeconds', maxRetryAfterSeconds, 0);
  if (typeof fetch !== 'function') throw new TypeError('fetch must be a function, or left out');
  if (typeof onLimits !== 'function') throw new TypeError('onLimits must be a function, or left out');
  return { serviceUrl: serviceUrlOf(baseUrl), apiKey, maxRetries, timeoutMs, maxRetryAfterSeconds, onLimits, fetch };
}

/** @throws TypeError if an option is not valid */
export function checkCallOptions({ maxRetries = 0, timeoutMs = 1, signal }: CallOptions): void {
  if (signal !== undefined && typeof signal?.throwIfAborted !== 'function') {
    throw new TypeError('signal must be an AbortSignal, such as the `signal` of an AbortController');
  }
  if (!Number.isInteger(maxRetries) || maxRetries < 0 || maxRetries > 10) {
    throw new TypeError('maxRetries must be a whole number from 0 to 10');
  }
  checkNumber('timeoutMs', timeoutMs, 1);
}

/** @throws TypeError */
function checkNumber(name: string, value: number, min: number): void {
  if (!(typeof value === 'number' && value >= min)) throw new TypeError(`${name} must be a number, at least ${min}`);
}

/** @throws TypeError if the URL is no address of a service */
function serviceUrlOf(baseUrl: string | URL): string {
  const url = URL.canParse(String(baseUrl)) ? new URL(baseUrl) : undefined;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') {
    throw new TypeError('baseUrl must be an http or https address, such as https://api.petstore.example');
  }
  // Each request has its own query, and the API key as its credentials: these would be lost without a word.
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError('baseUrl must not have a user, a password, a query or a fragment');
  }
  return url.origin + url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
}
