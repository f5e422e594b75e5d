import { trace } from '@opentelemetry/api';
import fp from 'fastify-plugin';
import { operationOf } from '../log-fields.ts';

/**
 * Describes the span that OpenTelemetry records for each request: its route, and the ids of the request and its key. Does
 * nothing if no spans are recorded.
 */
export const tracing = fp(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      const span = trace.getActiveSpan();
      if (span === undefined) return done();
      const { method, routeOptions, clientAddress } = request;
      span.setAttribute('client.address', clientAddress);
      if (routeOptions.url !== undefined) {
        span.updateName(`${method} ${routeOptions.url}`).setAttribute('http.route', routeOptions.url);
      }
      // This listener must run before OpenTelemetry's own, which ends the span.
      reply.raw.prependOnceListener('close', () => {
        const { id, principal, errorCode } = request;
        span.setAttributes({
          'petstore.request_id': id,
          'petstore.operation': operationOf(request),
          ...(principal !== undefined && { 'petstore.api_key_id': principal.keyId }),
          ...(errorCode !== undefined && { 'petstore.error_code': errorCode }),
        });
      });
      done();
    });
  },
  { name: 'tracing', dependencies: ['client-address', 'subject', 'errors'] },
);
