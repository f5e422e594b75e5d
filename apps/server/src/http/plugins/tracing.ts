import type { ServerResponse } from 'node:http';
import { trace } from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';

/** What is known of a request as it begins. */
interface BegunRequest {
  readonly method: string;
  /** The pattern of its path, as in `/v1/store/orders/:orderId`; `undefined`: nothing is there. */
  readonly route: string | undefined;
  /** As far as trusted proxies say. */
  readonly clientAddress: string;
}

/** What is known of it at its end. */
export interface SpanFacts {
  readonly requestId: string;
  /** The public id of the key, never the key. */
  readonly keyId: string | undefined;
  readonly operation: string;
  readonly errorCode: string | undefined;
}

export interface TracingOptions {
  readonly clientAddressOf: (request: FastifyRequest) => string;
  /** Called when the response has ended, or its reader has gone. */
  readonly factsOf: (request: FastifyRequest) => SpanFacts;
}

/**
 * Describes the span that OpenTelemetry records of each request: its route, and the ids of the request and its key. Does
 * nothing while no spans are recorded.
 */
export const tracing = fp<TracingOptions>(async (app, { clientAddressOf, factsOf }) => {
  app.addHook('onRequest', (request, reply, done) => {
    const { method, routeOptions } = request;
    const begun = { method, route: routeOptions.url, clientAddress: clientAddressOf(request) };
    describeSpan(begun, reply.raw, () => factsOf(request));
    done();
  });
});

/** Describes the span of the request that is being served. */
export function describeSpan(
  { method, route, clientAddress }: BegunRequest,
  response: ServerResponse,
  readFacts: () => SpanFacts,
): void {
  const span = trace.getActiveSpan();
  if (span === undefined) return;
  span.setAttribute('client.address', clientAddress);
  if (route !== undefined) span.updateName(`${method} ${route}`).setAttribute('http.route', route);
  // Before OpenTelemetry's own listener, which ends the span.
  response.prependOnceListener('close', () => {
    const { requestId, keyId, operation, errorCode } = readFacts();
    span.setAttributes({
      'petstore.request_id': requestId,
      'petstore.operation': operation,
      ...(keyId !== undefined && { 'petstore.api_key_id': keyId }),
      ...(errorCode !== undefined && { 'petstore.error_code': errorCode }),
    });
  });
}
