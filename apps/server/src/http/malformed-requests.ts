import type { IncomingMessage } from 'node:http';
import { type ApiError, createRefusal } from '@petstore/api';
import type { FastifyRequest, RawRequestDefaultExpression } from 'fastify';

const MALFORMED_URL = createRefusal('invalid_request', 'The URL is malformed.');
const MALFORMED_HOST = createRefusal('invalid_request', 'The Host header is no host with an optional port.');
const NO_SINGLE_HOST = createRefusal('invalid_request', 'An HTTP/1.1 request must have exactly one Host header.');

/** The requests whose target is no URL, or cannot be decoded. */
const malformed = new WeakSet<IncomingMessage>();

/** A path that nothing serves, and below which each request is counted. */
const COUNTED_PATH = '/v1/-';

/** A target in absolute form (RFC 9112 section 3.2.2): the authority, and the rest. */
const ABSOLUTE_FORM = /^https?:\/\/([^/?]*)(.*)$/i;

/**
 * For Fastify's `rewriteUrl`: makes a path of each request target, so that the limits and the routes read the same URL. A
 * request target has no fragment (RFC 9112 section 3.2): if one is sent, it is cut off.
 *
 * A target that is malformed is given a path all the same, and is refused on admission: Fastify would respond by itself,
 * and the caller would be neither identified nor counted. If its path cannot be decoded, it has the route that it would have
 * if its undecodable segments were plain ones.
 */
export function rewriteTarget(request: RawRequestDefaultExpression): string {
  const [target = ''] = (request.url ?? '').split('#', 1);
  const url = originFormOf(target, request.method);
  if (url === undefined) {
    malformed.add(request);
    return COUNTED_PATH;
  }
  const [path = ''] = url.split('?', 1);
  if (!path.includes('%') || isDecodable(path)) return url;
  malformed.add(request);
  const segments = path.split('/').map((segment) => (isDecodable(segment) ? segment : '_'));
  return segments.join('/') + url.slice(path.length);
}

/** @returns the path and query of a target; `undefined` if it is no URL (RFC 9112 section 3.2) */
function originFormOf(target: string, method: string | undefined): string | undefined {
  if (target.startsWith('/')) return target;
  if (target === '*') return method === 'OPTIONS' ? '/' : undefined;
  const [, authority = '', rest = ''] = ABSOLUTE_FORM.exec(target) ?? [];
  if (!isAuthority(authority)) return undefined;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** @returns why a request cannot be understood; `undefined` if it can */
export function malformationOf({ raw }: FastifyRequest): ApiError | undefined {
  if (malformed.has(raw)) return MALFORMED_URL;
  if (!hasSingleHost(raw)) return NO_SINGLE_HOST;
  const { host = '' } = raw.headers;
  return host === '' || isAuthority(host) ? undefined : MALFORMED_HOST;
}

/**
 * Whether a text is a host with an optional port (RFC 9110 section 7.2), of which tRPC can make the URL of a request. User
 * information, which `URL` would take, is an error (section 4.2.4).
 */
function isAuthority(text: string): boolean {
  return !/[@/?#\\\s]/.test(text) && URL.canParse(`http://${text}`);
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
