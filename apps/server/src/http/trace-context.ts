import type { IncomingHttpHeaders } from 'node:http';
import { trace } from '@opentelemetry/api';

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
