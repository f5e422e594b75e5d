import { type ClientClock, systemClock } from './transport/clock.ts';

/** For one call; what is left out is as the client was made. */
export interface CallOptions {
  /** Ends the call; it then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** How long the service may be silent, in milliseconds, at least 1. */
  readonly timeoutMs?: number | undefined;
  /** How often the call is tried again if that may help, 0 to 10. */
  readonly maxRetries?: number | undefined;
}

export interface PetstoreClientOptions {
  /** Where the service is: its origin, such as `https://api.petstore.example`, or its REST address, which ends in `/v1`. */
  readonly baseUrl: string | URL;
  /** Sent as the bearer token. Placing, shipping and completing orders takes an internal key. */
  readonly apiKey: string;
  /** How often a call is tried again if that may help, 0 to 10. @default 2 */
  readonly maxRetries?: number | undefined;
  /**
   * How long the service may be silent in an attempt, in milliseconds, at least 1: until its response begins, and then from
   * one piece of it to the next. @default 30000
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

/** The same, all of them given and valid. */
export type CheckedOptions = {
  readonly [Name in keyof Omit<PetstoreClientOptions, 'baseUrl'>]-?: NonNullable<PetstoreClientOptions[Name]>;
};

/** @throws TypeError when an option is not valid */
export function checkOptions(options: PetstoreClientOptions): CheckedOptions {
  // The global one is looked up at each request, so that one that is replaced later takes effect.
  const { fetch = (url, init) => globalThis.fetch(url, init), clock = systemClock, random = Math.random } = options;
  const { maxRetries = 2, timeoutMs = 30_000, maxRetryAfterSeconds = 65, apiKey } = options;
  checkCallOptions({ maxRetries, timeoutMs });
  checkNumber('maxRetryAfterSeconds', maxRetryAfterSeconds, 0);
  if (typeof fetch !== 'function') throw new TypeError('fetch must be a function, or left out');
  if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey)) {
    const found = apiKey ? 'it contains a blank, the end of a line or a special character' : 'it is empty or missing';
    throw new TypeError(`apiKey must be an API key as it was given out: ${found}`);
  }
  return { apiKey, maxRetries, timeoutMs, maxRetryAfterSeconds, fetch, clock, random };
}

/** @throws TypeError when one is not valid */
export function checkCallOptions({ maxRetries = 0, timeoutMs = 1 }: CallOptions): void {
  if (!Number.isInteger(maxRetries) || maxRetries < 0 || maxRetries > 10) {
    throw new TypeError('maxRetries must be a whole number from 0 to 10');
  }
  checkNumber('timeoutMs', timeoutMs, 1);
}

function checkNumber(name: string, value: number, min: number): void {
  if (!(typeof value === 'number' && value >= min)) throw new TypeError(`${name} must be a number, at least ${min}`);
}

/** The service's address, without `/v1` and without a slash at its end. @throws TypeError if it is none */
export function serviceUrlOf(baseUrl: string | URL): string {
  const text = String(baseUrl);
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
