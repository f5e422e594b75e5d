import type {
  Ban,
  BannedDecision,
  DecisionPlace,
  LastKnownStatus,
  LimiterObserver,
  RateLimitDecision,
  RateLimitRefusal,
  RateLimitSnapshot,
  RateLimitStatus,
  RefusedDecision,
  WindowName,
  WindowStatus,
} from './rate-limiter.ts';
import type { Subject } from './subject.ts';

/** When a refused request would succeed, and because of which window. */
interface Release {
  /** The window that releases last; `none` if only a ban refuses. */
  readonly window: WindowName | 'none';
  readonly releaseAtMs: number;
  readonly retryAtMs: number;
}

/** What is used of a window, and when the next unit is freed. */
export type WindowUse = readonly [used: number, resetAtMs: number];

/** The status of a subject after this use. */
export function statusOf(subject: Subject, atMs: number, minute: WindowUse, day: WindowUse): RateLimitStatus {
  const windowOf = (limit: number, [used, resetAtMs]: WindowUse): WindowStatus => {
    return { limit, used, remaining: Math.max(0, limit - used), resetAtMs };
  };
  const { perMinute, perDay } = subject;
  return { atMs, minute: windowOf(perMinute, minute), day: perDay === undefined ? undefined : windowOf(perDay, day) };
}

/** The status alone, without what else is known. */
const statusIn = ({ atMs, minute, day }: RateLimitStatus): RateLimitStatus => ({ atMs, minute, day });

/** The window with the lowest remaining; in a tie, the longer one. */
export const tightestWindow = ({ minute, day }: RateLimitStatus): WindowName =>
  day !== undefined && day.remaining <= minute.remaining ? 'day' : 'minute';

/** What a refusal holds whether it is a ban or not. */
const createRefusal = (status: RateLimitStatus, { window, releaseAtMs, retryAtMs }: Release) => ({
  ...statusIn(status),
  limitingWindow: window === 'none' ? tightestWindow(status) : window,
  releaseAtMs,
  retryAtMs,
  retryAfterSeconds: secondsUntil(retryAtMs, status),
});

/** Whole seconds, rounded up: at least 1 for a moment in the future. */
const secondsUntil = (timeMs: number, { atMs }: RateLimitStatus): number => Math.ceil((timeMs - atMs) / 1_000);

export const createRefusedDecision = (status: RateLimitStatus, release: Release): RefusedDecision => ({
  outcome: 'refused',
  ...createRefusal(status, release),
});

/** @param release without the ban, which may end later */
export function createBannedDecision(
  status: RateLimitStatus,
  { untilMs, level }: Ban,
  release: Omit<Release, 'retryAtMs'>,
  isNew: boolean,
): BannedDecision {
  const releaseAtMs = Math.max(release.releaseAtMs, untilMs);
  const refusal = createRefusal(status, { window: release.window, releaseAtMs, retryAtMs: releaseAtMs });
  return { outcome: 'banned', ...refusal, bannedUntilMs: untilMs, level, isNew };
}

/** The refusal that any request meets during the ban of a snapshot; `undefined` if no ban is in force. */
function refusalByBan(snapshot: RateLimitSnapshot): BannedDecision | undefined {
  const { minute, day, ban } = snapshot;
  if (ban === undefined) return undefined;
  const releaseAtMs = Math.max(...[minute, day].map((window) => (window?.remaining === 0 ? window.resetAtMs : 0)));
  const isMinuteLast = minute.remaining === 0 && day?.remaining === 0 && minute.resetAtMs > day.resetAtMs;
  return createBannedDecision(snapshot, ban, { window: isMinuteLast ? 'minute' : 'none', releaseAtMs }, false);
}

/**
 * What a snapshot says of any request: that a ban refuses it, or that an unknown caller has used up its minute. Requests of
 * known callers have to be counted, because their refusals count.
 */
export function lastKnownOf(snapshot: RateLimitSnapshot): RateLimitRefusal | LastKnownStatus {
  const { minute, day } = snapshot;
  if (day === undefined && minute.remaining === 0) {
    const { resetAtMs } = minute;
    return createRefusedDecision(snapshot, { window: 'minute', releaseAtMs: resetAtMs, retryAtMs: resetAtMs });
  }
  return refusalByBan(snapshot) ?? { outcome: 'last known', ...statusIn(snapshot) };
}

/** A remembered refusal as it is at a later time. */
export const bringToPresent = (refusal: RateLimitRefusal, atMs: number): RateLimitRefusal => {
  const later = { atMs, retryAfterSeconds: secondsUntil(refusal.retryAtMs, { ...refusal, atMs }) };
  return refusal.outcome === 'banned' ? { ...refusal, ...later, isNew: false } : { ...refusal, ...later };
};

/** Tells an observer of a check. */
export function reportCheck(
  observer: Pick<LimiterObserver, 'onDecision' | 'onBan'> | undefined,
  place: DecisionPlace,
  { name }: Subject,
  decision: RateLimitDecision,
): void {
  observer?.onDecision(place);
  if (decision.outcome !== 'banned' || !decision.isNew) return;
  observer?.onBan({ subject: name, untilMs: decision.bannedUntilMs, level: decision.level });
}
