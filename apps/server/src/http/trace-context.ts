import type { IncomingHttpHeaders } from 'node:http';

/** The trace of which the caller says that its request is a part (W3C Trace Context, section 3.2). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;

/** @returns the caller's trace id, 32 hexadecimal digits, if it sent a valid one */
export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  return typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent)?.[1] : undefined;
}
