import { hash } from 'node:crypto';
import { type ApiVersion, DOCUMENTED_VERSIONS } from '@petstore/api';
import { createReference, type Reference } from '@petstore/reference';
import type { AppOptions, RenderedDocument } from './app-options.ts';
import type { Exchange } from './exchange.ts';
import { JSON_TYPE } from './response-headers.ts';
import { allowOf, type Handler, type PathParams, type Route } from './router.ts';

/** Where the reference is read. */
const DOCS_PATH = '/docs';

/** What needs no key: the OpenAPI documents, the reference with its guides, and the way there. */
export function documentRoutes({
  renderDocument,
  securityText,
}: Pick<AppOptions, 'renderDocument' | 'securityText'>): readonly Route[] {
  const reference = createReference({ documentOf: (version) => JSON.parse(renderDocument(version).json) });
  const pages = [
    ...DOCUMENTED_VERSIONS.flatMap(({ version }) => documentPages(version, renderDocument)),
    [DOCS_PATH, 'docs', serveReference(reference, () => DOCS_PATH)],
    [`${DOCS_PATH}/*`, 'docs', serveReference(reference, ({ '*': rest }) => `${DOCS_PATH}/${rest}`)],
    ['/llms.txt', 'docs', serveReference(reference, () => '/llms.txt')],
    ['/robots.txt', 'docs', serveReference(reference, () => '/robots.txt')],
    ['/', 'docs', redirectTo(DOCS_PATH)],
    ...securityPages(securityText),
  ] as const;
  const allow = allowOf(['GET']);
  return pages.map(([path, operation, GET]) => ({
    path,
    info: { operation, errorFormat: 'rest', requiresApiKey: false, allow },
    handlers: { GET },
  }));
}

function documentPages(version: ApiVersion, renderDocument: AppOptions['renderDocument']) {
  let rendered: RenderedDocument | undefined;
  const document = () => {
    rendered ??= renderDocument(version);
    return rendered;
  };
  return [
    [`/${version}/openapi.json`, 'openapi', serveText(JSON_TYPE, () => document().json)],
    [`/${version}/openapi.yaml`, 'openapi', serveText('application/yaml', () => document().yaml())],
  ] as const;
}

function securityPages(text: string | undefined) {
  if (text === undefined) return [];
  return [['/.well-known/security.txt', 'security', serveText('text/plain; charset=utf-8', () => text)]] as const;
}

function serveReference(reference: Reference, pathOf: (params: PathParams) => string): Handler {
  return async (exchange, params) => {
    const { accept, 'accept-encoding': acceptEncoding } = exchange.request.headers;
    const found = await reference.respond({ path: pathOf(params), accept, acceptEncoding: acceptEncoding?.toString() });
    if (found === undefined) {
      exchange.setHeader('vary', 'accept'); // a browser gets a page
      return exchange.refuse('route_not_found');
    }
    const { 'content-type': contentType = '', 'content-encoding': contentEncoding, ...headers } = found.headers;
    for (const [name, value] of Object.entries(headers)) exchange.setHeader(name, value);
    if (found.status === 308) return exchange.sendEmpty(found.status);
    if (found.status === 200) return sendPage(exchange, { contentType, contentEncoding, body: found.body });
    exchange.countError('route_not_found');
    if (contentEncoding !== undefined) exchange.headers['content-encoding'] = contentEncoding;
    exchange.sendBytes(found.status, contentType, found.body);
  };
}

/** Serves a text that is made with the first request, and never changes. */
function serveText(contentType: string, render: () => string | Promise<string>): Handler {
  let body: Uint8Array | undefined;
  return async (exchange) => {
    body ??= Buffer.from(await render());
    exchange.headers['cache-control'] = 'no-cache';
    sendPage(exchange, { contentType, body });
  };
}

interface Page {
  readonly contentType: string;
  readonly contentEncoding?: string | undefined;
  /** One object for as long as it stays the same: its ETag is made once. */
  readonly body: Uint8Array;
}

/** Responds with a page, or with 304 where the client has it already (RFC 9110 section 13.1.2). */
function sendPage(exchange: Exchange, { contentType, contentEncoding, body }: Page): void {
  const { headers, request } = exchange;
  const etag = etagOf(body);
  headers['etag'] = etag;
  if (isKnown(request.headers['if-none-match'], etag)) {
    exchange.sendEmpty(304);
    return;
  }
  if (contentEncoding !== undefined) headers['content-encoding'] = contentEncoding;
  exchange.sendBytes(200, contentType, body);
}

const etags = new WeakMap<Uint8Array, string>();

/** Strong, so different for each content coding (RFC 9110 section 8.8.3). */
function etagOf(body: Uint8Array): string {
  let etag = etags.get(body);
  if (etag === undefined) {
    etag = `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
    etags.set(body, etag);
  }
  return etag;
}

function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch === '*' || ifNoneMatch.split(',').some((known) => known.trim().replace(/^W\//, '') === etag);
}

function redirectTo(location: string): Handler {
  return (exchange) => {
    exchange.headers['location'] = location;
    exchange.sendEmpty(302);
  };
}
