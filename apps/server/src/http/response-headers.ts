import type { IncomingMessage } from 'node:http';
import { RATE_LIMIT_HEADERS } from '@petstore/rate-limit';

export const JSON_TYPE = 'application/json';

/** The headers of one response, by lower-case name: one flat object that is written once. */
export interface ResponseHeaders {
  [name: string]: string | number | undefined;
  ratelimit?: string;
}

/**
 * The headers that every response begins with: it is not stored, its type is not guessed, it is shown in no frame and
 * may load nothing.
 */
export const startHeaders = (requestId: string): ResponseHeaders => ({
  'x-request-id': requestId,
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
});

const KEPT_REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/;
/** The beginning of an API key: one that was sent by mistake must not get into our logs. */
const API_KEY_FORM = /pso_(?:live|test)_/;

/** The caller's own X-Request-Id where it is fit to be kept, else a new one. */
export function chooseRequestId({ headers }: IncomingMessage, newRequestId: () => string): string {
  const inbound = headers['x-request-id'];
  if (typeof inbound === 'string' && KEPT_REQUEST_ID.test(inbound) && !API_KEY_FORM.test(inbound)) return inbound;
  return newRequestId();
}

/** What a script in a browser may read besides the safelisted headers: without these it could not wait as a 429 says. */
const EXPOSED_HEADERS = [
  ...RATE_LIMIT_HEADERS,
  'X-Request-Id',
  'WWW-Authenticate',
  'Allow',
  'Deprecation',
  'Sunset',
  'Link',
  'ETag',
].join(', ');

const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
  'access-control-allow-headers': 'Authorization, Content-Type, trpc-accept, X-Request-Id, traceparent, tracestate',
  // Two hours: browsers keep no preflight for longer.
  'access-control-max-age': 7_200,
};

/** Cross-origin resource sharing with the origins of one setting, and no other. */
export interface CorsPolicy {
  /** Adds what a browser needs to let a script of the request's origin read the response. */
  addHeaders(headers: ResponseHeaders, request: IncomingMessage): void;
  /** Whether a browser asks, for an origin that is allowed, if it may send a request. It never sends a key along. */
  isPreflight(request: IncomingMessage): boolean;
}

/** @param origins as browsers write them, such as `https://shop.example`; empty: no header at all */
export function createCorsPolicy(origins: readonly string[]): CorsPolicy {
  if (origins.length === 0) return { addHeaders() {}, isPreflight: () => false };
  const allowed = new Set(origins);
  return {
    addHeaders(headers, { headers: { origin } }) {
      headers['vary'] = 'Origin';
      if (origin === undefined || !allowed.has(origin)) return;
      headers['access-control-allow-origin'] = origin;
      headers['access-control-expose-headers'] = EXPOSED_HEADERS;
    },
    isPreflight({ method, headers: { origin, 'access-control-request-method': requested } }) {
      return method === 'OPTIONS' && requested !== undefined && origin !== undefined && allowed.has(origin);
    },
  };
}

/** Adds what only the response to a preflight carries. */
export function addPreflightHeaders(headers: ResponseHeaders): void {
  Object.assign(headers, PREFLIGHT_HEADERS);
}
