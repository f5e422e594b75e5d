import { PREFLIGHTS_PER_MINUTE } from '@petstore/domain';
import { InProcessLimiter, RATE_LIMIT_HEADERS } from '@petstore/rate-limit';
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { DecisionMetrics } from '../app-options.ts';
import { BROWSER_HEADERS } from '../request-headers.ts';
import { refusalOf } from './errors.ts';
import { oneWindow } from './limits.ts';

// By hand: @fastify/cors would answer `OPTIONS *`, and every OPTIONS of an allowed origin, before the request is counted.

/** The headers that a script in a browser may read besides the safelisted ones; without them it could not obey a 429. */
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
  'access-control-allow-headers': BROWSER_HEADERS.join(', '),
  // Two hours: no browser caches a preflight for longer.
  'access-control-max-age': 7_200,
};

export interface CorsOptions {
  /** Origins as browsers write them, such as `https://shop.example`. */
  readonly origins: readonly string[];
}

/** Lets scripts of these origins only read responses. */
export const cors = fp<CorsOptions>(
  async (app, { origins }) => {
    if (origins.length === 0) return;
    app.addHook('onRequest', (request, reply, done) => {
      const { origin } = request.headers;
      reply.header('vary', 'Origin');
      if (origin !== undefined && origins.includes(origin)) {
        reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED_HEADERS });
      }
      done();
    });
  },
  { name: 'cors' },
);

export interface PreflightOptions extends CorsOptions {
  readonly decisions: DecisionMetrics;
  /** The clock, in milliseconds since the epoch. */
  readonly nowMs: () => number;
}

/**
 * Responds to preflights. They carry no key, and have windows of their own: if they counted as requests of their address,
 * that limit would be the tightest of all.
 */
export const preflights = fp<PreflightOptions>(
  async (app, { origins, decisions, nowMs }) => {
    const counts = new InProcessLimiter({ nowMs });

    const isPreflight = ({ method, headers }: FastifyRequest): boolean =>
      method === 'OPTIONS' &&
      headers['access-control-request-method'] !== undefined &&
      headers.origin !== undefined &&
      origins.includes(headers.origin);

    app.addHook('onRequest', (request, reply, done) => {
      if (!isPreflight(request)) return done();
      const decision = counts.check(oneWindow(request.subject.name, PREFLIGHTS_PER_MINUTE), 1);
      decisions.countDecision('address', decision);
      if (decision.outcome === 'admitted') return void reply.code(204).headers(PREFLIGHT_HEADERS).send();
      reply.header('retry-after', decision.retryAfterSeconds);
      done(refusalOf('rate_limit_exceeded'));
    });
  },
  { name: 'preflights', dependencies: ['subject'] },
);
