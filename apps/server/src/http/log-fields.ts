import type { IncomingHttpHeaders } from 'node:http';
import { trace } from '@opentelemetry/api';
import type { ApiKeyId } from '@petstore/domain';
import type { FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route's name in metrics and logs, never text from a caller. A function if the route serves several operations. */
    readonly operation?: string | ((request: FastifyRequest) => string);
  }
}

/** The fields of a request in the log, in addition to the ids in Fastify's logger of the request. */
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

/** The trace that the caller's header says the request belongs to (W3C Trace Context, section 3.2). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/**
 * @returns the trace id, 32 hexadecimal digits: that of the span which records the present request or, without a span,
 *   that of a valid header from the caller
 */
export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  const span = trace.getActiveSpan();
  if (span !== undefined) return span.spanContext().traceId;
  return typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
}
