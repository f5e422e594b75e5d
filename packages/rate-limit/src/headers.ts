import { bannedDecisionOf } from './algorithm/subject-state.ts';
import {
  type RateLimitDecision,
  type RateLimitRefusal,
  type RateLimitSnapshot,
  type RateLimitStatus,
  type RecalledStatus,
  tightestWindow,
  type WindowName,
  type WindowStatus,
  wholeSecondsUntil,
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
 *   releases last. Reset is a Unix timestamp in seconds, rounded up: when the next unit is freed, on a refusal when to
 *   come back.
 * - `ratelimit-policy` and `ratelimit`: all windows (draft-ietf-httpapi-ratelimit-headers).
 * - `retry-after`: whole seconds (RFC 9110 section 10.2.3), on a refusal only.
 */
export function writeRateLimitHeaders(headers: HeaderTarget, source: HeaderSource): void {
  const refusal = refusalOf(source);
  const name = refusal?.limitingWindow ?? tightestWindow(source);
  const shown = name === 'day' && source.day !== undefined ? source.day : source.minute;
  headers['x-ratelimit-limit'] = shown.limit;
  headers['x-ratelimit-remaining'] = refusal?.outcome === 'api_key_banned' ? 0 : shown.remaining;
  headers['x-ratelimit-reset'] = Math.ceil((refusal?.retryAtMs ?? shown.resetAtMs) / 1000);
  headers['ratelimit-policy'] = policyOf(source);
  headers.ratelimit = fieldOf(source, refusal);
  if (refusal === source) headers['retry-after'] = refusal.retryAfterSeconds;
}

/** The refusal that a status means for a key that is banned, or that the decision is. */
function refusalOf(source: HeaderSource): RateLimitRefusal | undefined {
  switch (source.outcome) {
    case 'rate_limit_exceeded':
    case 'api_key_banned':
      return source;
    case 'snapshot':
      return bannedDecisionOf(source);
    default:
      return undefined;
  }
}

function policyOf({ minute, day }: RateLimitStatus): string {
  const policy = `"minute";q=${minute.limit};w=60`;
  return day === undefined ? policy : `${policy}, "day";q=${day.limit};w=86400`;
}

function fieldOf(status: RateLimitStatus, refusal: RateLimitRefusal | undefined): string {
  const { minute, day } = status;
  const field = itemOf('minute', minute, status, refusal);
  return day === undefined ? field : `${field}, ${itemOf('day', day, status, refusal)}`;
}

/** The window that refuses resets when the caller is to come back. Nothing remains to a banned key in any window. */
function itemOf(name: WindowName, window: WindowStatus, { atMs }: RateLimitStatus, refusal?: RateLimitRefusal): string {
  const isBanned = refusal?.outcome === 'api_key_banned';
  const refusesHere = isBanned || refusal?.limitingWindow === name;
  const resetAtMs = (refusesHere ? refusal?.retryAtMs : undefined) ?? window.resetAtMs;
  return `"${name}";r=${isBanned ? 0 : window.remaining};t=${wholeSecondsUntil(resetAtMs, atMs)}`;
}
