import {
  type RateLimitDecision,
  type RateLimitSnapshot,
  type RateLimitStatus,
  type RecalledStatus,
  tightestWindow,
  type WindowName,
  type WindowStatus,
} from './port.ts';

/** What the headers of a response are made of. */
export type HeaderSource = RateLimitDecision | RateLimitSnapshot | RecalledStatus;

/** Every rate limit header: browsers of other origins must be allowed to read them (CORS). */
export const RATE_LIMIT_HEADERS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'Retry-After',
] as const;

/** The headers object of a response. */
export interface HeaderTarget {
  [name: string]: string | number | readonly string[] | undefined;
  ratelimit?: string;
}

/**
 * Writes the headers of a decision or a status, by the names of {@link RATE_LIMIT_HEADERS} in lower case:
 * - `x-ratelimit-*`: one window, the one with the lowest remaining (tie: the longer); on a refusal the one that
 *   releases last. Reset is a Unix timestamp in seconds, rounded up.
 * - `ratelimit-policy` and `ratelimit`: all windows (draft-ietf-httpapi-ratelimit-headers).
 * - `retry-after`: whole seconds (RFC 9110 section 10.2.3), on a refusal only.
 */
export function writeRateLimitHeaders(headers: HeaderTarget, decision: HeaderSource): void {
  const refused = decision.outcome === 'rate_limit_exceeded' || decision.outcome === 'api_key_banned';
  const window = refused ? decision.limitingWindow : tightestWindow(decision);
  const shown = window === 'day' && decision.day !== undefined ? decision.day : decision.minute;
  headers['x-ratelimit-limit'] = shown.limit;
  headers['x-ratelimit-remaining'] = decision.outcome === 'api_key_banned' ? 0 : shown.remaining;
  headers['x-ratelimit-reset'] = Math.ceil((refused ? decision.releaseAtMs : shown.resetAtMs) / 1000);
  headers['ratelimit-policy'] = policyOf(decision);
  headers.ratelimit = fieldOf(decision);
  if (refused) headers['retry-after'] = decision.retryAfterSeconds;
}

function policyOf({ minute, day }: RateLimitStatus): string {
  const policy = `"minute";q=${minute.limit};w=60`;
  return day === undefined ? policy : `${policy}, "day";q=${day.limit};w=86400`;
}

function fieldOf(decision: HeaderSource): string {
  const { minute, day } = decision;
  const field = itemOf('minute', minute, decision);
  return day === undefined ? field : `${field}, ${itemOf('day', day, decision)}`;
}

/** Nothing remains to a banned key, whatever its windows hold. */
function itemOf(name: WindowName, window: WindowStatus, decision: HeaderSource): string {
  const isBanned = decision.outcome === 'api_key_banned';
  const resetAtMs = isBanned ? decision.releaseAtMs : window.resetAtMs;
  return `"${name}";r=${isBanned ? 0 : window.remaining};t=${Math.ceil((resetAtMs - decision.atMs) / 1000)}`;
}
