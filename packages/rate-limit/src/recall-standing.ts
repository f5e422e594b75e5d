import type { RateLimitDecision, RecalledStatus, WindowStatus } from './rate-limiter.ts';
import type { RateLimitSubject } from './subject.ts';
import { DAY_WINDOW, MINUTE_WINDOW, type WindowSpec } from './window-log.ts';

/**
 * A standing by the decision that was seen last: never more remaining than that left, until all of it must have left the
 * window.
 *
 * @param seen left out where the subject was not seen yet: it then stands as one that has sent nothing
 * @param nowMs by the clock that the decision goes by
 */
export function recallStanding(
  seen: RateLimitDecision | undefined,
  subject: RateLimitSubject,
  nowMs: number,
): RecalledStatus {
  const atMs = Math.max(nowMs, seen?.atMs ?? 0);
  const age = seen === undefined ? Number.POSITIVE_INFINITY : atMs - seen.atMs;
  const windowOf = (spec: WindowSpec, limit: number, window: WindowStatus | undefined): WindowStatus =>
    window === undefined || age >= spec.lengthMs + spec.quantumMs
      ? { limit, remaining: limit, resetAtMs: atMs }
      : { limit, remaining: Math.min(limit, window.remaining), resetAtMs: Math.max(atMs, window.resetAtMs) };
  return {
    outcome: 'recalled',
    atMs,
    minute: windowOf(MINUTE_WINDOW, subject.perMinute, seen?.minute),
    day: subject.perDay === undefined ? undefined : windowOf(DAY_WINDOW, subject.perDay, seen?.day),
  };
}
