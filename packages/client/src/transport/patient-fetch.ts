import { ConnectionError, PetstoreError } from '../errors.ts';
import type { CallOptions, CheckedOptions } from '../options.ts';
import { Attempt } from './attempt.ts';
import { pause } from './clock.ts';
import { Gate } from './gate.ts';
import { ServiceResponse } from './service-response.ts';

/** When, and how often, a failed request is retried. */
export type RetryPolicy = Pick<CheckedOptions, 'maxRetries' | 'maxRetryAfterSeconds' | 'random'>;

interface PatientRequest extends CallOptions {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  /** Whether the body of a 2xx response is left to the caller; otherwise it is read as text. @default false */
  readonly streams?: boolean | undefined;
  /** Whether the service does not count the request, which then need not wait. @default false */
  readonly isFree?: boolean | undefined;
}

/**
 * Sends a request until its response has arrived, completely unless it is streamed, or it fails for good.
 *
 * @returns the response, whatever its status
 * @throws ConnectionError if there is no response, or only a part of one; RateLimitError if the service has asked for too
 * long a wait, and nothing was sent; the signal's reason if it aborts; a mistake of the program unchanged
 */
export type PatientFetch = (request: PatientRequest) => Promise<ServiceResponse>;

const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 8_000;

/** Statuses that another attempt may change. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/** Makes the `fetch` below REST and tRPC, with one key and one gate. */
export function createPatientFetch(options: CheckedOptions): PatientFetch {
  const { clock } = options;
  const gate = new Gate(clock, options.maxRetryAfterSeconds * 1_000);
  return async (request) => {
    const policy = { ...options, maxRetries: request.maxRetries ?? options.maxRetries };
    let isAfterLoss = false;
    for (let attemptsMade = 1; ; attemptsMade++) {
      const outcome = await sendOnce(request, options, gate).catch((error: unknown) => {
        if (error instanceof PetstoreError) return error;
        throw error;
      });
      const delayMs = retryDelayMs(outcome, attemptsMade, policy);
      if (delayMs === undefined) {
        if (outcome instanceof PetstoreError) throw outcome;
        outcome.isAfterLoss = isAfterLoss;
        return outcome;
      }
      isAfterLoss ||= mayHaveRun(outcome);
      await pause(clock, delayMs, request.signal);
    }
  };
}

/** Sends the request once, when the gate permits it, and with timeouts. */
async function sendOnce(request: PatientRequest, options: CheckedOptions, gate: Gate): Promise<ServiceResponse> {
  const { method, url, headers, body = null, signal, streams = false, isFree = false } = request;
  const { apiKey, fetch, clock } = options;
  signal?.throwIfAborted();
  const release = isFree ? () => {} : await gate.acquire(signal);
  const attempt = new Attempt(clock, request.timeoutMs ?? options.timeoutMs, signal);
  let response: ServiceResponse | undefined;
  try {
    const init = {
      method,
      headers: { ...headers, authorization: `Bearer ${apiKey}` },
      body,
      signal: attempt.signal,
      ...(method !== 'GET' && singleSendOptions()),
    };
    response = new ServiceResponse(await attempt.wait(fetch(url, init)), attempt, clock.now());
  } finally {
    if (response === undefined) attempt.end();
    // The body of a 429 tells which limit it is.
    if (response?.status !== 429) release(response);
  }
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
}

/**
 * How long to wait before the next attempt: at least the time that the service asks for, and at least an exponential
 * backoff of 0.5 s doubling to 8 s. Each wait is a random part of it, from half to all: clients do not return in step.
 *
 * @param attemptsMade 1 after the first attempt
 * @returns milliseconds; `undefined` if the request succeeded, or another attempt would not help
 */
export function retryDelayMs(
  outcome: ServiceResponse | PetstoreError,
  attemptsMade: number,
  policy: RetryPolicy,
): number | undefined {
  const { status, retryAfterSeconds = 0 } = outcome;
  const isRetryable = status === undefined ? outcome instanceof ConnectionError : RETRYABLE_STATUSES.has(status);
  if (attemptsMade > policy.maxRetries || !isRetryable) return undefined;
  if (retryAfterSeconds > policy.maxRetryAfterSeconds) return undefined;
  const { random } = policy; // called without a receiver
  const backoffMs = Math.min(BACKOFF_FIRST_MS * 2 ** (attemptsMade - 1), BACKOFF_MAX_MS) * (0.5 + random() / 2);
  return Math.max(backoffMs, retryAfterSeconds * 1_000);
}

/**
 * Whether the service may have carried out a request that failed. It has not if it refused the request on arrival (429,
 * `overloaded`) or did not receive all of it (408).
 */
export function mayHaveRun(outcome: ServiceResponse | PetstoreError): boolean {
  const { status } = outcome;
  const isOverloaded =
    outcome instanceof PetstoreError ? outcome.code === 'overloaded' : outcome.text.includes('"overloaded"');
  return status !== 408 && status !== 429 && !isOverloaded;
}

let singleSend: RequestInit | undefined;

/**
 * Options of `fetch` for requests that must not be repeated unnoticed. When a kept-alive connection breaks, Bun and Deno
 * repeat the request themselves; with these options they use a new connection, and report its end. Node never repeats,
 * and browsers cannot be configured.
 */
function singleSendOptions(): RequestInit {
  if (singleSend !== undefined) return singleSend;
  // The used part of Deno's API; other runtimes have none of it.
  const { Deno: deno } = globalThis as { readonly Deno?: { createHttpClient?(options: object): unknown } };
  // Bun takes `keepalive` as whether to keep the connection; elsewhere `false` is the default.
  const client = deno?.createHttpClient?.({ poolMaxIdlePerHost: 0 });
  singleSend = { keepalive: false, ...(client !== undefined && { client }) };
  return singleSend;
}
