import { RATE_LIMIT_HEADERS } from '@petstore/rate-limit';
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { AppOptions } from './app-options.ts';

// By hand: @fastify/cors would answer `OPTIONS *`, and every OPTIONS of an allowed origin, although it needs a key.

/** The headers that a script in a browser may read besides the safelisted ones; without them it could not obey a 429. */
const EXPOSED_HEADERS = [
  ...RATE_LIMIT_HEADERS,
  'X-Request-Id',
  'X-API-Key-Expires',
  'WWW-Authenticate',
  'Allow',
  'Deprecation',
  'Sunset',
  'Link',
  'ETag',
].join(', ');

/**
 * The request headers that this service or tRPC reads and that a script in a browser needs permission to send. The other
 * headers that are read need none: browsers set them or let every script set them (Accept, Host, Origin).
 */
const READ_HEADERS = [
  'Authorization',
  'Content-Type',
  'If-None-Match',
  'trpc-accept',
  'User-Agent',
  'X-Request-Id',
  'traceparent',
];

const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
  // Libraries add headers of their own, such as Cache-Control, X-Requested-With or those of each tracing product: a preflight
  // that forbade one would fail the request, and none of them is read. The wildcard stands for all but Authorization. It is
  // valid because no origin is allowed to send cookies.
  'access-control-allow-headers': [...READ_HEADERS, '*'].join(', '),
  // Two hours: no browser caches a preflight for longer.
  'access-control-max-age': 7_200,
};

/** Lets scripts of these origins only read responses, and responds to their preflights, which count towards no limit. */
export const cors = fp<Pick<AppOptions, 'corsOrigins'>>(
  async (app, { corsOrigins: origins }) => {
    if (origins.length === 0) return;
    app.addHook('onRequest', (request, reply, done) => {
      const { origin } = request.headers;
      reply.header('vary', 'Origin');
      if (origin === undefined || !origins.includes(origin)) return done();
      reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED_HEADERS });
      if (!isPreflight(request)) return done();
      reply.code(204).headers(PREFLIGHT_HEADERS).send();
    });
  },
  { name: 'cors' },
);

/**
 * Lets scripts of any origin read what needs no key and is the same for everybody, as tools do that import the OpenAPI
 * documents by URL. To be registered for those paths only.
 */
export const publicCors = fp(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      reply.headers({ 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED_HEADERS });
      if (isPreflight(request)) reply.headers(PREFLIGHT_HEADERS);
      done();
    });
  },
  { name: 'public-cors', dependencies: ['cors'] },
);

const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
