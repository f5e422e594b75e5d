import type { IncomingMessage } from 'node:http';
import { RATE_LIMIT_HEADERS } from '@petstore/rate-limit';
import type { ResponseHeaders } from './answer-headers.ts';

/** What a script in a browser may read besides the safelisted headers: without these a 429 tells it nothing. */
const EXPOSED = [
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
  'access-control-allow-headers': 'Authorization, Content-Type, trpc-accept, X-Request-Id',
  // Two hours: browsers keep no preflight for longer.
  'access-control-max-age': 7_200,
};

/**
 * Cross-origin resource sharing for the origins of one setting, and no other. A preflight that is
 * refused has the shape of every other error.
 */
export interface CorsPolicy {
  /** Adds what an answer needs to be read by a browser from the request's origin. */
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
      headers['access-control-expose-headers'] = EXPOSED;
    },
    isPreflight({ method, headers: { origin, 'access-control-request-method': asked } }) {
      return method === 'OPTIONS' && asked !== undefined && origin !== undefined && allowed.has(origin);
    },
  };
}

/** Adds what only the answer to a preflight carries. */
export function addPreflightHeaders(headers: ResponseHeaders): void {
  Object.assign(headers, PREFLIGHT_HEADERS);
}
