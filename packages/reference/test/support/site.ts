import { type ApiVersion, ERROR_CATALOGUE, openApiDocument } from '@petstore/api';
import { startHttpServer, type TestHttpServer } from '@petstore/testing';
import { createReference, type Reference } from '../../src/index.ts';

export const ERROR_CODES = Object.keys(ERROR_CATALOGUE);
export const GUIDE_PATHS = [
  '/docs/five-minutes-rest',
  '/docs/five-minutes-trpc',
  '/docs/follow-orders',
  '/docs/authentication',
  '/docs/errors',
  '/docs/limits',
  '/docs/64-bit-ids',
  '/docs/client-tools',
  '/docs/versions',
  '/docs/v2-preview',
  '/docs/changelog',
];
export const ERROR_PATHS = ERROR_CODES.map((code) => `/docs/errors/${code}`);
/** Every page. */
export const PAGE_PATHS = ['/docs', '/docs/v2', ...GUIDE_PATHS, ...ERROR_PATHS];

/** What links and elements of a page refer to, as they are written. */
export const referencesOf = (html: string): string[] =>
  Array.from(html.matchAll(/<(?!base )[^>]* (?:href|src)="([^"]*)"/g), ([, reference = '']) => reference);

/** Where a reference of a page leads, as browsers resolve it. */
export function resolveFrom(html: string, address: string, reference: string): URL {
  const [, base = ''] = /<base href="([^"]*)">/.exec(html) ?? [];
  return new URL(reference, new URL(base, address));
}

/** The site of a server at an address, which its documents name. */
export const referenceAt = (origin = 'http://127.0.0.1:3000'): Reference =>
  createReference({
    documentOf: (version: ApiVersion) => openApiDocument({ version, servers: [{ url: `${origin}/${version}` }] }),
  });

/** The site as a server would serve it, at another address than the one that its documents name. */
export function startSiteServer(): Promise<TestHttpServer> {
  const reference = referenceAt('https://orders.example');
  return startHttpServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost');
    const answer = await reference.respond({
      path: decodeURIComponent(pathname),
      accept: request.headers.accept,
      acceptEncoding: request.headers['accept-encoding']?.toString(),
    });
    if (answer === undefined) response.writeHead(404).end();
    else response.writeHead(answer.status, answer.headers).end(answer.body);
  });
}
