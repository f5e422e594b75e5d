/**
 * The request headers that this service or tRPC reads and that a script in a browser needs permission to send (CORS). The
 * other headers that are read need none: browsers set them or let every script set them (Accept, Host, Origin).
 */
const READ_HEADERS = [
  'Authorization',
  'Content-Type',
  'If-None-Match',
  'Last-Event-ID',
  'trpc-accept',
  'X-Request-Id',
  'traceparent',
] as const;

/** Headers that libraries in browsers add by themselves: a preflight that forbade them would fail their requests. */
const LIBRARY_HEADERS = ['tracestate', 'baggage', 'Cache-Control', 'X-Requested-With', 'x-trpc-source'] as const;

export const BROWSER_HEADERS: readonly string[] = [...READ_HEADERS, ...LIBRARY_HEADERS];
