import { DAY_WINDOW, MINUTE_WINDOW, type WindowSpec } from '../algorithm/window-log.ts';
import type { RateLimitDecision, RecalledStatus, WindowStatus } from '../port.ts';
import type { RateLimitSubject } from '../subject.ts';

/**
 * The status by the last decision: no more remaining than it left, until all of it must have left the window.
 *
 * @param last `undefined` for a subject that has sent nothing
 * @param nowMs by the clock of the decision
 */
export function recallStatus(
  last: RateLimitDecision | undefined,
  { perMinute, perDay }: RateLimitSubject,
  nowMs: number,
): RecalledStatus {
  const atMs = Math.max(nowMs, last?.atMs ?? 0);
  const ageMs = last === undefined ? Number.POSITIVE_INFINITY : atMs - last.atMs;
  const windowOf = (spec: WindowSpec, limit: number, window: WindowStatus | undefined): WindowStatus =>
    window === undefined || ageMs >= spec.lengthMs + spec.quantumMs
      ? { limit, remaining: limit, resetAtMs: atMs }
      : { limit, remaining: Math.min(limit, window.remaining), resetAtMs: Math.max(atMs, window.resetAtMs) };
  return {
    outcome: 'recalled',
    atMs,
    minute: windowOf(MINUTE_WINDOW, perMinute, last?.minute),
    day: perDay === undefined ? undefined : windowOf(DAY_WINDOW, perDay, last?.day),
  };
}
