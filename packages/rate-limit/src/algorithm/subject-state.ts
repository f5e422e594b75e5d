import { tightestWindow } from '../headers.ts';
import {
  type Ban,
  type BannedDecision,
  type RateLimitDecision,
  type RateLimitSnapshot,
  type RateLimitStatus,
  type RateLimitUse,
  type WindowName,
  type WindowStatus,
  wholeSecondsUntil,
} from '../port.ts';
import type { RateLimitSubject } from '../subject.ts';
import {
  advancePenalty,
  countRefusals,
  isBanned,
  movePenaltyBack,
  NO_PENALTY,
  type Penalty,
  refuse,
  restoreBan,
} from './penalty.ts';
import {
  addToLog,
  DAY_WINDOW,
  EMPTY_LOG,
  expireLog,
  freedBy,
  MINUTE_WINDOW,
  nextFreedAtMs,
  shiftLog,
  type WindowLog,
  type WindowSpec,
} from './window-log.ts';

/** All that is kept of a subject. Not its limits, so that a change of plan takes effect at once. */
export interface SubjectState {
  /** The time of the last change. Time does not run backwards from here: see {@link STEP_BACK_MAX_MS}. */
  readonly atMs: number;
  readonly minute: WindowLog;
  readonly day: WindowLog;
  readonly penalty: Penalty;
}

/** A decision, and the state to keep: the same object where nothing changed. */
export interface CheckedState {
  readonly state: SubjectState;
  readonly decision: RateLimitDecision;
}

/** A clock that steps back by at most this freezes time. A longer step drops the minute and moves the rest along. */
const STEP_BACK_MAX_MS = 60_000;

const NO_STATE: SubjectState = { atMs: 0, minute: EMPTY_LOG, day: EMPTY_LOG, penalty: NO_PENALTY };

/** Brings a state to the present: drops what has left the windows, and what does not matter any more of refusals. */
function advance(state: SubjectState, nowMs: number): SubjectState {
  const backMs = state.atMs - nowMs;
  const isMovedBack = backMs > STEP_BACK_MAX_MS;
  const atMs = backMs > 0 && !isMovedBack ? state.atMs : nowMs;
  return {
    atMs,
    minute: isMovedBack ? EMPTY_LOG : expireLog(state.minute, MINUTE_WINDOW, atMs),
    day: expireLog(isMovedBack ? shiftLog(state.day, backMs) : state.day, DAY_WINDOW, atMs),
    penalty: isMovedBack
      ? advancePenalty(movePenaltyBack(state.penalty, backMs), atMs, atMs)
      : advancePenalty(state.penalty, state.atMs, atMs),
  };
}

/**
 * Decides on a request: the whole algorithm as a pure function. The script in Redis does the same, byte for byte.
 *
 * @param stored the state that was kept, if any
 * @param nowMs the clock, in milliseconds since the epoch
 */
export function checkState(
  stored: SubjectState | undefined,
  subject: RateLimitSubject,
  cost: number,
  nowMs: number,
): CheckedState {
  const state = advance(stored ?? NO_STATE, nowMs);
  const { atMs, minute, day, penalty } = state;
  if (isBanned(penalty, atMs)) {
    // A request during a ban changes nothing. Only a clock that stepped back is recorded, or the ban would never end.
    const isMoved = stored === undefined || atMs < stored.atMs;
    return { state: isMoved ? state : stored, decision: bannedDecision(state, subject, cost, nowMs) };
  }
  const release = findRelease(state, subject, cost);
  if (release === undefined) {
    const admitted: SubjectState = {
      atMs,
      minute: addToLog(minute, MINUTE_WINDOW, atMs, cost),
      day: subject.perDay === undefined ? day : addToLog(day, DAY_WINDOW, atMs, cost),
      penalty,
    };
    return { state: admitted, decision: { outcome: 'admitted', ...statusOf(admitted, subject, nowMs) } };
  }
  const { type, perMinute } = subject;
  const refusalsMax = type === 'api-key' ? subject.refusalsMax : undefined;
  const lastHitMs = minute.openLastMs;
  const refused = refuse(penalty, { ...release, atMs, nowMs, cost, lastHitMs, perMinute, refusalsMax });
  const next: SubjectState = { atMs, minute, day, penalty: refused.penalty };
  if (refused.isNewBan)
    return { state: next, decision: { ...bannedDecision(next, subject, cost, nowMs), isNew: true } };
  const { limitingWindow, releaseAtMs } = release;
  const { retryAtMs } = refused;
  return {
    state: next,
    decision: {
      outcome: 'rate_limit_exceeded',
      ...statusOf(next, subject, nowMs),
      limitingWindow,
      releaseAtMs,
      retryAtMs,
      retryAfterSeconds: wholeSecondsUntil(retryAtMs, nowMs),
    },
  };
}

/** The status of a subject, with what counts towards a ban. */
export function snapshotOf(
  stored: SubjectState | undefined,
  subject: RateLimitSubject,
  nowMs: number,
): RateLimitSnapshot {
  const state = advance(stored ?? NO_STATE, nowMs);
  const { atMs, minute, day, penalty } = state;
  return {
    outcome: 'snapshot',
    ...statusOf(state, subject, nowMs),
    used: { minute: minute.total, day: subject.perDay === undefined ? undefined : day.total },
    strikes: countRefusals(penalty),
    ban: isBanned(penalty, atMs) ? { untilMs: penalty.banUntilMs, level: penalty.banLevel } : undefined,
  };
}

/** Logs requests that were admitted elsewhere. */
export function debitState(
  stored: SubjectState | undefined,
  subject: RateLimitSubject,
  use: RateLimitUse,
  nowMs: number,
): SubjectState {
  const { atMs, minute, day, penalty } = advance(stored ?? NO_STATE, nowMs);
  return {
    atMs,
    minute: addToLog(minute, MINUTE_WINDOW, atMs, use.minute),
    day: subject.perDay === undefined ? day : addToLog(day, DAY_WINDOW, atMs, use.day),
    penalty,
  };
}

/**
 * Sets a ban that was decided on before, unless a longer one is in force. Addresses are never banned.
 *
 * @param ban the level is that of the ban, 1 to 4
 */
export function banState(stored: SubjectState | undefined, ban: Ban, nowMs: number): SubjectState {
  const state = advance(stored ?? NO_STATE, nowMs);
  return { ...state, penalty: restoreBan(state.penalty, ban) };
}

interface Release {
  readonly limitingWindow: WindowName;
  readonly releaseAtMs: number;
  readonly roomAtRelease: number;
}

/** When a request that does not fit now will; `undefined` where it fits. */
function findRelease({ minute, day }: SubjectState, subject: RateLimitSubject, cost: number): Release | undefined {
  const minuteExcess = minute.total + cost - subject.perMinute;
  const dayExcess = subject.perDay === undefined ? 0 : day.total + cost - subject.perDay;
  if (minuteExcess <= 0 && dayExcess <= 0) return undefined;
  const minuteFreed = minuteExcess > 0 ? freedBy(minute, MINUTE_WINDOW, minuteExcess) : NOTHING_FREED;
  const dayFreed = dayExcess > 0 ? freedBy(day, DAY_WINDOW, dayExcess) : NOTHING_FREED;
  return dayFreed.atMs >= minuteFreed.atMs
    ? { limitingWindow: 'day', releaseAtMs: dayFreed.atMs, roomAtRelease: dayFreed.units - dayExcess + cost }
    : {
        limitingWindow: 'minute',
        releaseAtMs: minuteFreed.atMs,
        roomAtRelease: minuteFreed.units - minuteExcess + cost,
      };
}

const NOTHING_FREED = { atMs: 0, units: 0 } as const;

/** The refusal by a ban that was in force before. */
function bannedDecision(state: SubjectState, subject: RateLimitSubject, cost: number, nowMs: number): BannedDecision {
  const { banUntilMs, banLevel } = state.penalty;
  const status = statusOf(state, subject, nowMs);
  const release = findRelease(state, subject, cost);
  const releaseAtMs = Math.max(banUntilMs, release?.releaseAtMs ?? 0);
  return {
    outcome: 'api_key_banned',
    ...status,
    limitingWindow: release?.limitingWindow ?? tightestWindow(status),
    releaseAtMs,
    retryAtMs: releaseAtMs,
    retryAfterSeconds: wholeSecondsUntil(releaseAtMs, nowMs),
    bannedUntilMs: banUntilMs,
    level: banLevel,
    isNew: false,
  };
}

function statusOf(state: SubjectState, subject: RateLimitSubject, nowMs: number): RateLimitStatus {
  const { atMs, minute, day } = state;
  return {
    atMs: nowMs,
    minute: windowStatus(minute, MINUTE_WINDOW, subject.perMinute, atMs),
    day: subject.perDay === undefined ? undefined : windowStatus(day, DAY_WINDOW, subject.perDay, atMs),
  };
}

const windowStatus = (log: WindowLog, spec: WindowSpec, limit: number, atMs: number): WindowStatus => ({
  limit,
  remaining: Math.max(0, limit - log.total),
  resetAtMs: nextFreedAtMs(log, spec, limit, atMs),
});
