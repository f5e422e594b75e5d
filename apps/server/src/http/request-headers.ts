/**
 * The request headers that this service reads, by itself or in tRPC, and that a script in a browser has to be allowed to
 * send (CORS). What is read besides, browsers set themselves or let every script set: Accept, Host, Origin.
 */
const READ_HEADERS = [
  'Authorization',
  'Content-Type',
  'Last-Event-ID',
  'trpc-accept',
  'X-Request-Id',
  'traceparent',
] as const;

/** What libraries in browsers send besides, unasked: a preflight that did not allow it would fail their requests. */
const LIBRARY_HEADERS = ['tracestate', 'baggage', 'Cache-Control', 'X-Requested-With', 'x-trpc-source'] as const;

export const BROWSER_HEADERS: readonly string[] = [...READ_HEADERS, ...LIBRARY_HEADERS];
