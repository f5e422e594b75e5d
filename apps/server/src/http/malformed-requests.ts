import type { IncomingMessage } from 'node:http';
import { ApiError } from '@petstore/api';
import type { FastifyRequest, RawRequestDefaultExpression } from 'fastify';

const MALFORMED_URL = new ApiError('invalid_request', 'The URL is malformed.');
const NO_SINGLE_HOST = new ApiError('invalid_request', 'An HTTP/1.1 request must have exactly one Host header.');

/** The requests whose URL cannot be decoded. */
const malformed = new WeakSet<IncomingMessage>();

/**
 * For Fastify's `rewriteUrl`. A request target has no fragment (RFC 9112 section 3.2): if one is sent, it is cut off here,
 * before anything reads the URL. The limits and the routes therefore read the same URL.
 *
 * A URL that cannot be decoded is given the route that it would have if its undecodable segments were plain ones, and is
 * refused there: Fastify's `frameworkErrors` would run no hooks, and the caller would be neither identified nor counted.
 */
export function rewriteMalformedUrl(request: RawRequestDefaultExpression): string {
  const [url = ''] = (request.url ?? '').split('#', 1);
  const [path = ''] = url.split('?', 1);
  if (!path.includes('%') || isDecodable(path)) return url;
  malformed.add(request);
  const segments = path.split('/').map((segment) => (isDecodable(segment) ? segment : '_'));
  return segments.join('/') + url.slice(path.length);
}

/** @throws ApiError */
export function assertUrlIsDecodable({ raw }: FastifyRequest): void {
  if (malformed.has(raw)) throw MALFORMED_URL;
}

/** @returns why a request cannot be understood; `undefined` if it can */
export function malformationOf({ raw }: FastifyRequest): ApiError | undefined {
  if (malformed.has(raw)) return MALFORMED_URL;
  return hasSingleHost(raw) ? undefined : NO_SINGLE_HOST;
}

/** RFC 9112 section 3.2: a request without Host, or with more than one, is refused with 400. */
function hasSingleHost({ headers, rawHeaders, httpVersionMajor, httpVersionMinor }: IncomingMessage): boolean {
  if (headers.host === undefined) return httpVersionMajor === 1 && httpVersionMinor === 0;
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts === 1;
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
