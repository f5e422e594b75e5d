import { type ClientClock, systemClock } from './transport/clock.ts';

/** Options of one call, which override those of the client. */
export interface CallOptions {
  /** Ends the call; it then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** How long the service may be silent, in milliseconds, at least 1. */
  readonly timeoutMs?: number | undefined;
  /** How often a failed call is retried if a retry may help, 0 to 10. */
  readonly maxRetries?: number | undefined;
}

export interface PetstoreClientOptions {
  /** The service's origin, such as `https://api.petstore.example`, or its REST address, which ends in `/v1`. */
  readonly baseUrl: string | URL;
  /** Sent as the bearer token. Placing, shipping and completing orders requires an internal key. */
  readonly apiKey: string;
  /** How often a failed call is retried if a retry may help, 0 to 10. @default 2 */
  readonly maxRetries?: number | undefined;
  /**
   * How long the service may be silent in an attempt, in milliseconds, at least 1: until its response begins, and then
   * between two pieces of it. @default 30000
   */
  readonly timeoutMs?: number | undefined;
  /**
   * The longest wait that a call accepts if the service asks for one (`Retry-After`), in seconds. If the service asks for a
   * longer wait, calls fail at once. 0: calls never wait for it. @default 65
   */
  readonly maxRetryAfterSeconds?: number | undefined;
  /** @default the global `fetch` */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** For tests. @default the real time */
  readonly clock?: ClientClock | undefined;
  /** For tests: returns numbers from 0 up to, but not including, 1. @default Math.random */
  readonly random?: (() => number) | undefined;
}

/** The options, all present and valid. */
export type CheckedOptions = {
  readonly [Name in keyof Omit<PetstoreClientOptions, 'baseUrl'>]-?: NonNullable<PetstoreClientOptions[Name]>;
};

/** @throws TypeError if an option is not valid */
export function checkOptions(options: PetstoreClientOptions): CheckedOptions {
  if (!options) throw new TypeError('options must be given, with baseUrl and apiKey');
  // The global `fetch` is looked up at each request: one that replaces it later takes effect.
  const { fetch = (url, init) => globalThis.fetch(url, init), clock = systemClock, random = Math.random } = options;
  const { maxRetries = 2, timeoutMs = 30_000, maxRetryAfterSeconds = 65, apiKey } = options;
  checkCallOptions({ maxRetries, timeoutMs });
  checkNumber('maxRetryAfterSeconds', maxRetryAfterSeconds, 0);
  if (typeof fetch !== 'function') throw new TypeError('fetch must be a function, or left out');
  const fault = faultOfKey(apiKey);
  if (fault !== undefined) throw new TypeError(`apiKey must be an API key as it was given out: ${fault}`);
  return { apiKey, maxRetries, timeoutMs, maxRetryAfterSeconds, fetch, clock, random };
}

/** What variables that are not set leave in a text that is made of them. */
const UNSET = /^(?:undefined|null)$|[${}]/;

/** @returns why the text cannot be a key; the key is not shown */
function faultOfKey(apiKey: unknown): string | undefined {
  if (apiKey === undefined || apiKey === null || apiKey === '') return 'it is empty or missing';
  if (typeof apiKey !== 'string') return 'it is no string';
  if (/^Bearer\s/i.test(apiKey)) return 'it begins with "Bearer", which the client adds';
  if (/^(["'`]).*\1$/.test(apiKey)) return 'it is in quotation marks';
  if (UNSET.test(apiKey)) return 'it holds a variable that is not set';
  return /^[\x21-\x7e]+$/.test(apiKey) ? undefined : 'it contains a blank, the end of a line or a special character';
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

function checkNumber(name: string, value: number, min: number): void {
  if (!(typeof value === 'number' && value >= min)) throw new TypeError(`${name} must be a number, at least ${min}`);
}

/** The paths below the service's address that callers paste. */
const NOT_THE_SERVICE = /\/(?:v\d+(?:\/(?:(?:store|pets)(?:\/.*)?|openapi\.\w+))?|trpc|docs(?:\/.*)?)$/i;

/** The service's address, without `/v1` and without a slash at its end. @throws TypeError if the URL is no such address */
export function serviceUrlOf(baseUrl: string | URL): string {
  const text = String(baseUrl);
  if (!URL.canParse(text) || !/^https?:\/\//i.test(text)) {
    throw new TypeError('baseUrl must be an http or https address, such as https://api.petstore.example');
  }
  const { origin, hostname, pathname, username, password, search, hash } = new URL(text);
  if (UNSET.test(hostname)) throw new TypeError('baseUrl must name a host: it holds a variable that is not set');
  // Each request has its own query, and the API key as its credentials: these would be lost without a word.
  const extra = username || password ? 'a user or a password' : search ? 'a query' : hash && 'a fragment';
  if (extra) throw new TypeError(`baseUrl must not have ${extra}: use ${origin}${pathname}`);
  const whole = pathname.replace(/\/+$/, '');
  const path = NOT_THE_SERVICE.exec(whole)?.[0] ?? '';
  const service = origin + whole.slice(0, whole.length - path.length);
  if (path === '' || path === '/v1') return service;
  throw new TypeError(`baseUrl must not end in ${path}: use ${service}, or ${service}/v1 (v2 is \`client.v2\`)`);
}
