import { hash } from 'node:crypto';
import type { RenderedDocument } from './app-options.ts';
import { DOCS_PAGE_POLICY, renderDocsPage } from './docs-page.ts';
import { type Exchange, JSON_TYPE } from './exchange.ts';
import { allowOf, type Handler, type Mounting, mountPath } from './mount.ts';

/** Where the reference is read. */
export const DOCS_PATH = '/docs';
export const DOCUMENT_PATHS = { json: '/v1/openapi.json', yaml: '/v1/openapi.yaml' } as const;

interface Page {
  readonly contentType: string;
  readonly body: string;
  readonly etag: string;
}

/** Mounts what needs no key: the OpenAPI document, the reference that is made of it, and the way there. */
export function mountDocuments(mounting: Mounting, renderDocument: () => RenderedDocument): void {
  let rendered: RenderedDocument | undefined;
  const document = () => {
    rendered ??= renderDocument();
    return rendered;
  };
  const GET = [
    [DOCUMENT_PATHS.json, 'openapi', servePage(JSON_TYPE, () => document().json)],
    [DOCUMENT_PATHS.yaml, 'openapi', servePage('application/yaml', () => document().yaml)],
    [DOCS_PATH, 'docs', servePage('text/html; charset=utf-8', () => renderDocsPage(document().json), DOCS_PAGE_POLICY)],
    ['/', 'docs', leadTo(DOCS_PATH)],
  ] as const;
  for (const [url, operation, handler] of GET) {
    const place = { operation, dialect: 'rest', isAdmitted: false, allow: allowOf(['GET']) } as const;
    mountPath(mounting, { url, place, handlers: { GET: handler } });
  }
}

/** Serves a text that is made when it is first asked for, and never changes (RFC 9110 section 13.1.2). */
function servePage(contentType: string, render: () => string, policy?: string): Handler {
  let page: Page | undefined;
  return (exchange) => {
    page ??= createPage(contentType, render());
    const { headers } = exchange;
    headers['etag'] = page.etag;
    headers['cache-control'] = 'no-cache';
    if (policy !== undefined) headers['content-security-policy'] = policy;
    if (isKnownToClient(exchange, page.etag)) return exchange.sendEmpty(304);
    exchange.sendText(200, page.contentType, page.body);
  };
}

function createPage(contentType: string, body: string): Page {
  return { contentType, body, etag: `"${hash('sha256', body, 'base64url').slice(0, 22)}"` };
}

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
