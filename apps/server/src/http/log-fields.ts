import type { IncomingHttpHeaders } from 'node:http';
import { trace } from '@opentelemetry/api';
import type { ApiKeyId } from '@petstore/domain';
import type { FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What metrics and logs call it: never anything that a caller sent. A function if the route serves several operations. */
    readonly operation?: string | ((request: FastifyRequest) => string);
  }
}

/** What a line of the log says of its request, besides the ids that Fastify's logger of the request holds. */
export interface LogFields {
  readonly keyId: ApiKeyId | undefined;
  readonly operation: string;
}

export const logFieldsOf = (request: FastifyRequest): LogFields => ({
  keyId: request.principal?.keyId,
  operation: operationOf(request),
});

export function operationOf(request: FastifyRequest): string {
  const { operation = 'unknown' } = request.routeOptions.config;
  return typeof operation === 'string' ? operation : operation(request);
}

/** The trace of which the caller says that its request is a part (W3C Trace Context, section 3.2). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/**
 * @returns the trace, 32 hexadecimal digits, of the span that is recorded of the request that is being served, else that of
 *   its caller, if it sent a valid one
 */
export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  const span = trace.getActiveSpan();
  if (span !== undefined) return span.spanContext().traceId;
  return typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
}
