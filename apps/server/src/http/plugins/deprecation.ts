import fp from 'fastify-plugin';
import type { RequestMetrics } from '../app-options.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Present on every route of a path that has a deprecated operation. */
    readonly deprecation?: Deprecation;
  }
}

export interface Deprecation {
  /** The deprecated operation. */
  readonly operationId: string;
  /** The methods of the operation. */
  readonly methods: ReadonlySet<string>;
  /** RFC 9745 and RFC 8594: since when it is deprecated, when it ends, and a link to the explanation. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Announces deprecations in every response of their paths, including errors, and counts who still uses them. */
export const deprecation = fp<{ readonly metrics: RequestMetrics }>(
  async (app, { metrics }) => {
    app.addHook('onRequest', (request, reply, done) => {
      const { deprecation } = request.routeOptions.config;
      if (deprecation === undefined) return done();
      const { operationId, methods, headers } = deprecation;
      reply.headers(headers);
      if (methods.has(request.method)) {
        reply.whenClosed(() => metrics.observeDeprecatedUse(operationId, request.principal?.keyId));
      }
      done();
    });
  },
  { name: 'deprecation', dependencies: ['in-flight', 'subject'] },
);
