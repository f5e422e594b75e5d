import { ConnectionError, PetstoreError } from '../errors.ts';
import type { CallOptions, CheckedOptions } from '../options.ts';
import { Attempt } from './attempt.ts';
import { pause } from './clock.ts';
import { Gate } from './gate.ts';
import { ServiceResponse } from './service-response.ts';

/** When, and how often, what failed is tried again. */
export type RetryPolicy = Pick<CheckedOptions, 'maxRetries' | 'maxRetryAfterSeconds' | 'random'>;

interface PatientRequest extends CallOptions {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
  /** Whether the body is left to the caller where the status is 2xx; otherwise it was read as text. @default false */
  readonly streams?: boolean | undefined;
  /** Whether the service does not count it, so that it need not wait. @default false */
  readonly isFree?: boolean | undefined;
  /** How many requests it counts as: the calls of a batch. @default 1 */
  readonly cost?: number | undefined;
}

/**
 * Sends a request until its response, all of it unless it is streamed, has arrived or it fails for good.
 *
 * @returns the response, whatever its status
 * @throws ConnectionError if there is none, or a part of one; RateLimitError where the service has asked for a wait that
 * is too long, and nothing was sent; the signal's reason, when it aborts; what the program itself did wrong, as it is
 */
export type PatientFetch = (request: PatientRequest) => Promise<ServiceResponse>;

const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 8_000;

/** Statuses that another attempt may change. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/** Makes the `fetch` below REST and tRPC: under one key, by one gate. */
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

/** Sends it once: when the gate permits it, and bounded in time. */
async function sendOnce(request: PatientRequest, options: CheckedOptions, gate: Gate): Promise<ServiceResponse> {
  const { method, url, headers, body = null, signal, streams = false, isFree = false, cost = 1 } = request;
  const { apiKey, fetch, clock } = options;
  signal?.throwIfAborted();
  const release = isFree ? () => {} : await gate.acquire(cost, signal);
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
    release(response);
  }
  if (streams && response.ok) return response;
  try {
    for await (const text of response.readTexts()) response.texts.push(text);
  } catch (error) {
    // The status says enough, unless it is the body that was wanted.
    if (response.ok || !(error instanceof PetstoreError)) throw error;
  }
  return response;
}

/**
 * How long to wait before the next attempt: as long as the service asks for, and at least an exponential backoff of 0.5 s
 * doubling to 8 s, of which each wait takes a random part from half to all, so that clients do not return in step.
 *
 * @param attemptsMade 1 after the first
 * @returns milliseconds; `undefined` if it succeeded, or another attempt would not help
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
  const { random } = policy; // called without a receiver, as it is given
  const backoffMs = Math.min(BACKOFF_FIRST_MS * 2 ** (attemptsMade - 1), BACKOFF_MAX_MS) * (0.5 + random() / 2);
  return Math.max(backoffMs, retryAfterSeconds * 1_000);
}

/**
 * Whether the service may have carried out a request that failed. It has not where it refused it on arrival (429,
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
 * Options of `fetch` for what must not be sent twice unnoticed. When a kept-alive connection breaks, Bun and Deno repeat
 * the request on their own; with these options they take a new connection, and report its end. Node never repeats, and
 * browsers cannot be configured to.
 */
function singleSendOptions(): RequestInit {
  if (singleSend !== undefined) return singleSend;
  // The part of Deno's own API that is used; other runtimes have none of it.
  const { Deno: deno } = globalThis as { readonly Deno?: { createHttpClient?(options: object): unknown } };
  // Bun reads `keepalive` as whether the connection is kept; elsewhere `false` is the default.
  const client = deno?.createHttpClient?.({ poolMaxIdlePerHost: 0 });
  singleSend = { keepalive: false, ...(client !== undefined && { client }) };
  return singleSend;
}
