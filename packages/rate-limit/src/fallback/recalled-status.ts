import { DAY_WINDOW, MINUTE_WINDOW, type WindowSpec } from '../algorithm/window-log.ts';
import type { RateLimitStatus, RateLimitUse, RecalledStatus, WindowStatus } from '../port.ts';
import type { RateLimitSubject } from '../subject.ts';

/** The last decision on a subject, and what the subject had certainly used then: by the limits of then it may show less. */
export interface LastUse<Status extends RateLimitStatus = RateLimitStatus> {
  readonly decision: Status;
  readonly use: RateLimitUse;
}

/**
 * The status by the last decision: no more remaining than that left, until all of it must have left the window.
 *
 * @param last `undefined` for a subject that has sent nothing
 * @param nowMs by the clock of the decision
 */
export function recallStatus(
  last: LastUse | undefined,
  { perMinute, perDay }: RateLimitSubject,
  nowMs: number,
): RecalledStatus {
  const { decision, use } = last ?? {};
  const atMs = Math.max(nowMs, decision?.atMs ?? 0);
  const ageMs = decision === undefined ? Number.POSITIVE_INFINITY : atMs - decision.atMs;
  const windowOf = (spec: WindowSpec, limit: number, window: WindowStatus | undefined, used = 0): WindowStatus =>
    window === undefined || ageMs >= spec.lengthMs + spec.quantumMs
      ? { limit, remaining: limit, resetAtMs: atMs }
      : { limit, remaining: Math.max(0, limit - used), resetAtMs: Math.max(atMs, window.resetAtMs) };
  return {
    outcome: 'recalled',
    atMs,
    minute: windowOf(MINUTE_WINDOW, perMinute, decision?.minute, use?.minute),
    day: perDay === undefined ? undefined : windowOf(DAY_WINDOW, perDay, decision?.day, use?.day),
  };
}
