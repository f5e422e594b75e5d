import { hash } from 'node:crypto';
import { type ApiVersion, DOCUMENTED_VERSIONS } from '@petstore/api';
import { createReference, type Reference } from '@petstore/reference';
import type { AppOptions, RenderedDocument } from './app-options.ts';
import { type Exchange, JSON_TYPE } from './exchange.ts';
import { allowOf, type Handler, type PathParams, type Route } from './router.ts';

/** Where the reference is read. */
const DOCS_PATH = '/docs';

/** What needs no key: the OpenAPI documents, the reference with its guides, and the way there. */
export function documentRoutes({
  renderDocument,
  securityText,
}: Pick<AppOptions, 'renderDocument' | 'securityText'>): readonly Route[] {
  const reference = createReference();
  const pages = [
    ...DOCUMENTED_VERSIONS.flatMap(({ version }) => serveDocument(version, renderDocument)),
    [DOCS_PATH, 'docs', serveReference(reference, () => DOCS_PATH)],
    [`${DOCS_PATH}/*`, 'docs', serveReference(reference, ({ '*': rest }) => `${DOCS_PATH}/${rest}`)],
    ['/', 'docs', leadTo(DOCS_PATH)],
    ...serveSecurityText(securityText),
  ] as const;
  const allow = allowOf(['GET']);
  return pages.map(([path, operation, GET]) => ({
    path,
    info: { operation, errorFormat: 'rest', requiresApiKey: false, allow },
    handlers: { GET },
  }));
}

function serveDocument(version: ApiVersion, renderDocument: AppOptions['renderDocument']) {
  let rendered: RenderedDocument | undefined;
  const document = () => {
    rendered ??= renderDocument(version);
    return rendered;
  };
  return [
    [`/${version}/openapi.json`, 'openapi', servePage(JSON_TYPE, () => document().json)],
    [`/${version}/openapi.yaml`, 'openapi', servePage('application/yaml', () => document().yaml)],
  ] as const;
}

function serveSecurityText(text: string | undefined) {
  if (text === undefined) return [];
  return [['/.well-known/security.txt', 'security', servePage('text/plain; charset=utf-8', () => text)]] as const;
}

function serveReference(reference: Reference, pathOf: (params: PathParams) => string): Handler {
  async function answer(exchange: Exchange, path: string): Promise<void> {
    const { 'accept-encoding': acceptEncoding, 'if-none-match': ifNoneMatch } = exchange.request.headers;
    const found = await reference.answer({ path, acceptEncoding: String(acceptEncoding ?? ''), ifNoneMatch });
    if (found === undefined) return exchange.refuse('route_not_found');
    for (const name in found.headers) exchange.setHeader(name, found.headers[name] ?? '');
    if (found.status === 200) exchange.sendBytes(200, found.body);
    else exchange.sendEmpty(found.status);
  }
  return (exchange, params) => {
    answer(exchange, pathOf(params)).catch((error: unknown) => exchange.fail(error));
  };
}

/** Serves a text that is made when it is first asked for, and never changes (RFC 9110 section 13.1.2). */
function servePage(contentType: string, render: () => string): Handler {
  let page: { readonly body: string; readonly etag: string } | undefined;
  return (exchange) => {
    page ??= withEtag(render());
    const { headers } = exchange;
    headers['etag'] = page.etag;
    headers['cache-control'] = 'no-cache';
    if (isKnownToClient(exchange, page.etag)) exchange.sendEmpty(304);
    else exchange.sendText(200, contentType, page.body);
  };
}

const withEtag = (body: string) => ({ body, etag: `"${hash('sha256', body, 'base64url').slice(0, 22)}"` });

function isKnownToClient({ request }: Exchange, etag: string): boolean {
  const known = request.headers['if-none-match'];
  if (known === undefined) return false;
  return known === '*' || known.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

function leadTo(location: string): Handler {
  return (exchange) => {
    exchange.headers['location'] = location;
    exchange.sendEmpty(302);
  };
}
