import { hash } from 'node:crypto';
import { DOCUMENTED_VERSIONS, refusalOf } from '@petstore/api';
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import fp from 'fastify-plugin';
import type { AppOptions } from '../app-options.ts';
import { addVary, refuseUnknownPath, reportError } from '../responses.ts';
import { addPath } from './add-path.ts';
import { matchesEtag } from './matches-etag.ts';

/** The path of the reference. */
const DOCS_PATH = '/docs';

type DocumentsOptions = Pick<AppOptions, 'renderDocument' | 'reference' | 'renderSecurityText' | 'metrics'>;

/** The paths that need no key: the OpenAPI documents, the reference with its guides, and the redirects to it. */
export const documents = fp<DocumentsOptions>(
  async (app, { renderDocument, reference, renderSecurityText, metrics }) => {
    app.setNotFoundHandler(refuseUnknownPath);
    const get = (path: string, operation: string, handler: RouteHandlerMethod) =>
      addPath(app, path, { operation }, [{ method: 'GET', operation, handler }]);

    for (const { version } of DOCUMENTED_VERSIONS) {
      const document = () => renderDocument(version);
      const json = serveText('application/json', () => document().json);
      const yaml = serveText('application/yaml', () => document().yaml());
      get(`/${version}/openapi.json`, 'openapi', json);
      get(`/${version}/openapi.yaml`, 'openapi', yaml);
    }
    for (const path of [DOCS_PATH, `${DOCS_PATH}/*`, '/llms.txt']) get(path, 'docs', serveReference);
    // The redirect is relative: it also works behind a proxy that serves us below a path of its own.
    get('/', 'docs', async (_request, reply) => reply.redirect(DOCS_PATH.slice(1)));
    if (renderSecurityText() !== undefined) {
      get('/.well-known/security.txt', 'security', async (request, reply) => {
        const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' };
        return sendPage(request, reply.headers(headers), Buffer.from(renderSecurityText() ?? ''));
      });
    }

    async function serveReference(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
      const { params, routeOptions, headers } = request;
      const { '*': rest = '' } = params as { '*'?: string }; // percent-decoded
      const path = routeOptions.url?.replace('*', () => rest) ?? DOCS_PATH;
      const { accept, 'accept-encoding': acceptEncoding } = headers;
      const found = await reference.respond({ path, accept, acceptEncoding: acceptEncoding?.toString() });
      // If nothing is found, browsers get a page and other clients the Error object, so the response varies by Accept.
      const { vary, ...others } = found?.headers ?? { vary: 'accept' };
      addVary(reply, vary);
      if (found === undefined) throw refusalOf('route_not_found');
      reply.code(found.status).headers(others);
      if (found.status === 308) return reply.send();
      if (found.status === 200) return sendPage(request, reply, found.body);
      reportError(request, refusalOf('route_not_found'), metrics);
      return reply.send(found.body);
    }
  },
  { name: 'documents', dependencies: ['admission'], encapsulate: true },
);

/** Serves a text that is made at the first request and never changes. */
function serveText(contentType: string, render: () => string | Promise<string>): RouteHandlerMethod {
  let body: Uint8Array | undefined;
  return async (request, reply) => {
    body ??= Buffer.from(await render());
    return sendPage(request, reply.headers({ 'content-type': contentType, 'cache-control': 'no-cache' }), body);
  };
}

/** Responds with a page, or with 304 if the client already has it (RFC 9110 section 13.1.2). */
function sendPage({ headers }: FastifyRequest, reply: FastifyReply, body: Uint8Array): FastifyReply {
  const etag = etagOf(body);
  reply.header('etag', etag);
  if (!matchesEtag(headers['if-none-match'], etag)) return reply.send(body);
  return reply.code(304).removeHeader('content-type').removeHeader('content-encoding').send();
}

// By hand: @fastify/etag computes the tag of each body again, and supports neither a list of tags nor `*`.
const etags = new WeakMap<Uint8Array, string>();

/** @param body the same object while its content is the same. @returns a strong tag, thus one per content coding */
function etagOf(body: Uint8Array): string {
  const etag = etags.get(body) ?? `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
  etags.set(body, etag);
  return etag;
}
