import { PetstoreError } from '../errors.ts';
import type { CheckedOptions } from '../options.ts';
import { Attempt } from './attempt.ts';
import type { Clock } from './clock.ts';
import { Gate } from './gate.ts';
import { readLimits } from './reported-limits.ts';
import { ServiceResponse } from './service-response.ts';

interface ServiceRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How long the service may be silent, in milliseconds. @default the client's */
  readonly timeoutMs?: number | undefined;
  /** Whether the body of a 2xx response is left to the caller; otherwise it is read as text. @default false */
  readonly streams?: boolean | undefined;
  /** Whether the request takes no place in the gate, because its caller sends one at a time and waits as told. @default false */
  readonly isAlone?: boolean | undefined;
}

/**
 * Sends a request once, when the gate permits it, and with timeouts.
 *
 * @returns the response, of any status, with its whole body unless it is streamed
 * @throws ConnectionError if there is no response, or only a part of one; RateLimitError if the service has asked for too
 * long a wait, and nothing was sent; the signal's reason if it aborts; TypeError if `fetch` returns no web stream
 */
export type Send = (request: ServiceRequest) => Promise<ServiceResponse>;

/** Makes the function that sends the requests of REST and tRPC, with one key and one gate. */
export function createSend(
  { apiKey, fetch, onLimits, maxRetryAfterSeconds, ...options }: CheckedOptions,
  clock: Clock,
): Send {
  const gate = new Gate(clock, maxRetryAfterSeconds * 1_000);
  const singleSend = singleSendOptions();
  return async ({ method, url, headers, body = null, signal, streams = false, isAlone = false, timeoutMs }) => {
    signal?.throwIfAborted();
    const release = isAlone ? () => {} : await gate.acquire(signal);
    const attempt = new Attempt(clock, timeoutMs ?? options.timeoutMs, signal);
    const ownHeaders = { ...headers, authorization: `Bearer ${apiKey}` };
    const init = { method, headers: ownHeaders, body, signal: attempt.signal, ...(method !== 'GET' && singleSend) };
    let response: ServiceResponse | undefined;
    try {
      response = new ServiceResponse(await attempt.wait(() => fetch(url, init)), attempt, clock.now());
    } finally {
      if (response === undefined) attempt.end();
      // The body of a 429 tells which limit it is.
      if (response?.status !== 429) release(response);
    }
    const limits = readLimits(response.headers);
    if (limits !== undefined) queueMicrotask(() => onLimits(limits)); // what it throws is no failure of the call
    if (streams && response.ok) return response;
    try {
      for await (const text of response.readTexts()) response.texts.push(text);
    } catch (error) {
      // The status is enough, unless the body itself was wanted.
      if (response.ok || !(error instanceof PetstoreError)) throw error;
    } finally {
      if (response.status === 429) release(response);
    }
    return response;
  };
}

/**
 * Options of `fetch` for requests that must not be repeated unnoticed. When a kept-alive connection breaks, Bun and Deno
 * repeat the request themselves; with these options they use a new connection, and report its end. Node never repeats,
 * and browsers cannot be configured.
 */
function singleSendOptions(): RequestInit {
  // The used part of Deno's API; other runtimes have none of it.
  const { Deno: deno } = globalThis as { readonly Deno?: { createHttpClient?(options: object): unknown } };
  // Bun takes `keepalive` as whether to keep the connection; elsewhere `false` is the default.
  const client = deno?.createHttpClient?.({ poolMaxIdlePerHost: 0 });
  return { keepalive: false, ...(client !== undefined && { client }) };
}
