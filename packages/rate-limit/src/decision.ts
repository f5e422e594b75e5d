import { resetsOf, type State, type Use, type Verdict } from './algorithm.ts';
import {
  type BannedDecision,
  type RateLimitDecision,
  type RateLimitRefusal,
  type RateLimitSnapshot,
  type RateLimitStatus,
  type RefusedDecision,
  type SubjectBan,
  type WindowName,
  wholeSecondsUntil,
} from './rate-limiter.ts';
import type { Subject } from './subject.ts';

/** The result of an operation, whether in Redis or in the process. */
export interface Result {
  readonly verdict:
    | Verdict
    | {
        readonly outcome: 'status';
        readonly refusals: number;
        readonly level: number;
        readonly bannedUntil: number;
      };
  readonly now: number;
  readonly used: Use;
  /** When the next unit of each window is freed. */
  readonly resets: Use;
}

/** A result as limiter.lua returns it. */
export type Row = [
  outcome: string,
  now: number,
  minuteUsed: number,
  minuteReset: number,
  dayUsed: number,
  dayReset: number,
  ...rest: (string | number)[],
];

export function readRow([outcome, now, minuteUsed, minuteReset, dayUsed, dayReset, ...rest]: Row): Result {
  const [window, release, retry, level, bannedUntil] = rest;
  const verdict =
    outcome === 'status'
      ? { outcome, refusals: rest[0], level: rest[1], bannedUntil: rest[2] }
      : { outcome, window, release, retry, level, bannedUntil };
  return {
    verdict: verdict as Result['verdict'], // as the script describes its results
    now,
    used: { minute: minuteUsed, day: dayUsed },
    resets: { minute: minuteReset, day: dayReset },
  };
}

/** @param verdict left out if the state was only read */
export function resultOf(state: State, subject: Subject, now: number, verdict?: Verdict): Result {
  const { minute, day, refusals, level, bannedUntil } = state;
  return {
    verdict: verdict ?? { outcome: 'status', refusals: refusals.total, level, bannedUntil },
    now,
    used: { minute: minute.total, day: day.total },
    resets: resetsOf(state, subject, now),
  };
}

/** The status of a subject after this use. */
function statusOf(
  { now, used, resets }: Pick<Result, 'now' | 'used' | 'resets'>,
  { perMinute, perDay }: Subject,
): RateLimitStatus {
  const windowOf = (name: WindowName, limit: number) => ({
    limit,
    remaining: Math.max(0, limit - used[name]),
    resetAtMs: resets[name],
  });
  return {
    atMs: now,
    minute: windowOf('minute', perMinute),
    day: perDay === undefined ? undefined : windowOf('day', perDay),
  };
}

/** @throws TypeError if the result is not that of a decision */
export function decisionOf(result: Result, subject: Subject): RateLimitDecision {
  const { verdict, now } = result;
  const status = statusOf(result, subject);
  if (verdict.outcome === 'status') throw new TypeError('a status is no decision');
  if (verdict.outcome === 'admitted') return { outcome: 'admitted', ...status };
  const refusal = {
    ...status,
    limitingWindow: verdict.window === 'none' ? tightestWindow(status) : verdict.window,
    releaseAtMs: verdict.release,
    retryAtMs: verdict.retry,
    retryAfterSeconds: wholeSecondsUntil(verdict.retry, now),
  };
  if (verdict.outcome === 'refused') return { outcome: 'refused', ...refusal };
  const { bannedUntil, level, outcome } = verdict;
  return { outcome: 'banned', ...refusal, bannedUntilMs: bannedUntil, level, isNew: outcome === 'newly banned' };
}

/** @throws TypeError if the result is that of a decision */
export function snapshotOf(result: Result, subject: Subject): RateLimitSnapshot {
  const { verdict, now, used } = result;
  if (verdict.outcome !== 'status') throw new TypeError('a decision is no status');
  const { refusals, level, bannedUntil } = verdict;
  return {
    outcome: 'snapshot',
    ...statusOf(result, subject),
    used: { minute: used.minute, day: subject.perDay === undefined ? undefined : used.day },
    refusals,
    ban: bannedUntil > now ? { untilMs: bannedUntil, level } : undefined,
  };
}

/** The window with the lowest remaining; in a tie, the longer one. */
export const tightestWindow = ({ minute, day }: RateLimitStatus): WindowName =>
  day !== undefined && day.remaining <= minute.remaining ? 'day' : 'minute';

/** The refusal of every request during a ban; `undefined` if no ban is in force. */
export function bannedDecisionOf(snapshot: RateLimitSnapshot): BannedDecision | undefined {
  const { atMs, minute, day, ban } = snapshot;
  if (ban === undefined) return undefined;
  const resetsAtMs = [minute, day].map((window) => (window?.remaining === 0 ? window.resetAtMs : 0));
  const releaseAtMs = Math.max(ban.untilMs, ...resetsAtMs);
  const isMinuteLast = minute.remaining === 0 && day?.remaining === 0 && minute.resetAtMs > day.resetAtMs;
  return {
    outcome: 'banned',
    atMs,
    minute,
    day,
    limitingWindow: isMinuteLast ? 'minute' : tightestWindow(snapshot),
    releaseAtMs,
    retryAtMs: releaseAtMs,
    retryAfterSeconds: wholeSecondsUntil(releaseAtMs, atMs),
    bannedUntilMs: ban.untilMs,
    level: ban.level,
    isNew: false,
  };
}

/**
 * The refusal of any request in this status: by a ban, or because an unknown caller has used up its minute. The requests
 * of known callers have to be counted, because their refusals count.
 */
export function refusalInForce(snapshot: RateLimitSnapshot): RateLimitRefusal | undefined {
  const { atMs, minute, day } = snapshot;
  if (day === undefined && minute.remaining === 0) return refusedDecisionOf({ atMs, minute, day }, 'minute');
  return bannedDecisionOf(snapshot);
}

/** The refusal by a window that is used up, until its next unit is freed. */
export function refusedDecisionOf(status: RateLimitStatus, limitingWindow: WindowName): RefusedDecision {
  const { resetAtMs } = status[limitingWindow] ?? status.minute;
  return {
    outcome: 'refused',
    ...status,
    limitingWindow,
    releaseAtMs: resetAtMs,
    retryAtMs: resetAtMs,
    retryAfterSeconds: wholeSecondsUntil(resetAtMs, status.atMs),
  };
}

/** The ban in a refusal. */
export const banOf = ({ name }: Subject, { bannedUntilMs, level }: BannedDecision): SubjectBan => ({
  subject: name,
  untilMs: bannedUntilMs,
  level,
});
