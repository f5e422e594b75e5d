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
  'User-Agent',
  'X-Request-Id',
  'traceparent',
] as const;

/**
 * What a script of an allowed origin may send. Libraries add headers of their own, such as Cache-Control, X-Requested-With or
 * those of each tracing product: a preflight that forbade one would fail the request, and none of them is read. The wildcard
 * stands for all but Authorization. It is valid because no origin is allowed to send cookies.
 */
export const BROWSER_HEADERS: readonly string[] = [...READ_HEADERS, '*'];
