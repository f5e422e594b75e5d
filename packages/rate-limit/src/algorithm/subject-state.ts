import {
  type RateLimitDecision,
  type RateLimitSnapshot,
  type RateLimitStatus,
  type RateLimitUse,
  tightestWindow,
  type WindowName,
  type WindowStatus,
  wholeSecondsUntil,
} from '../port.ts';
import type { RateLimitSubject } from '../subject.ts';
import { isBanned, NO_PENALTY, type Penalty, refuse, STRIKE_SPAN_MS, settlePenalty } from './penalty.ts';
import {
  addToLog,
  DAY_WINDOW,
  EMPTY_LOG,
  expireLog,
  freedAtMs,
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

/** Brings a state to the present: drops what has left the windows, and a penalty that no longer matters. */
function advance(state: SubjectState, nowMs: number): SubjectState {
  const backMs = state.atMs - nowMs;
  const atMs = backMs > 0 && backMs <= STEP_BACK_MAX_MS ? state.atMs : nowMs;
  const { minute, day, penalty } = backMs > STEP_BACK_MAX_MS ? moveBack(state, backMs) : state;
  return {
    atMs,
    minute: expireLog(minute, MINUTE_WINDOW, atMs),
    day: expireLog(day, DAY_WINDOW, atMs),
    penalty: settlePenalty(penalty, atMs),
  };
}

function moveBack({ day, penalty }: SubjectState, byMs: number): Omit<SubjectState, 'atMs'> {
  return {
    minute: EMPTY_LOG,
    day: shiftLog(day, byMs),
    penalty:
      penalty === NO_PENALTY
        ? penalty
        : {
            ...penalty,
            spanStartMs: penalty.spanStartMs - byMs,
            lastPromiseMs: penalty.lastPromiseMs - byMs,
            firstReturnMs: penalty.firstReturnMs - byMs,
            banUntilMs: penalty.banUntilMs - byMs,
          },
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
  const bannable = subject.type === 'api-key';
  const refused = refuse(penalty, { ...release, atMs, perMinute: subject.perMinute, bannable });
  const next: SubjectState = { atMs, minute, day, penalty: refused.penalty };
  if (refused.banned) {
    return { state: next, decision: bannedDecision(next, subject, cost, nowMs) };
  }
  const retryAfterSeconds = wholeSecondsUntil(refused.retryAtMs, nowMs);
  return {
    state: next,
    decision: { outcome: 'rate_limit_exceeded', ...statusOf(next, subject, nowMs), ...release, retryAfterSeconds },
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
    strikes: strikesAt(penalty, atMs),
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

interface Release {
  readonly limitingWindow: WindowName;
  readonly releaseAtMs: number;
}

/** When a request that does not fit now will; `undefined` where it fits. */
function findRelease({ minute, day }: SubjectState, subject: RateLimitSubject, cost: number): Release | undefined {
  const minuteExcess = minute.total + cost - subject.perMinute;
  const dayExcess = subject.perDay === undefined ? 0 : day.total + cost - subject.perDay;
  const minuteAtMs = minuteExcess > 0 ? freedAtMs(minute, MINUTE_WINDOW, minuteExcess) : 0;
  const dayAtMs = dayExcess > 0 ? freedAtMs(day, DAY_WINDOW, dayExcess) : 0;
  if (minuteExcess <= 0 && dayExcess <= 0) return undefined;
  return dayAtMs >= minuteAtMs
    ? { limitingWindow: 'day', releaseAtMs: dayAtMs }
    : { limitingWindow: 'minute', releaseAtMs: minuteAtMs };
}

function bannedDecision(
  state: SubjectState,
  subject: RateLimitSubject,
  cost: number,
  nowMs: number,
): RateLimitDecision {
  const bannedUntilMs = state.penalty.banUntilMs;
  const status = statusOf(state, subject, nowMs);
  const release = findRelease(state, subject, cost);
  const releaseAtMs = Math.max(bannedUntilMs, release?.releaseAtMs ?? 0);
  return {
    outcome: 'api_key_banned',
    ...status,
    limitingWindow: release?.limitingWindow ?? tightestWindow(status),
    bannedUntilMs,
    releaseAtMs,
    retryAfterSeconds: wholeSecondsUntil(releaseAtMs, nowMs),
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

const strikesAt = ({ spanStartMs, strikes }: Penalty, atMs: number): number =>
  atMs - spanStartMs < STRIKE_SPAN_MS ? strikes : 0;
