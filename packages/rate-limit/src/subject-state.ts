import {
  isBanned,
  NO_PENALTY,
  type Penalty,
  penaltyRestsAtMs,
  refuse,
  STRIKE_SPAN_MS,
  settlePenalty,
} from './penalty.ts';
import {
  type RateLimitDecision,
  type RateLimitSnapshot,
  type RateLimitStatus,
  type RateLimitUse,
  tightestWindow,
  type WindowName,
  type WindowStatus,
  wholeSecondsUntil,
} from './rate-limiter.ts';
import type { RateLimitSubject } from './subject.ts';
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

/** All that is known of a subject. Its limits are no part of it, so that a change of plan holds at once. */
export interface SubjectState {
  /** The time of the last change. Time does not run backwards from here, see {@link STEP_BACK_MAX_MS}. */
  readonly atMs: number;
  readonly minute: WindowLog;
  readonly day: WindowLog;
  readonly penalty: Penalty;
}

/** What came of a step: the state to keep (the same object where nothing changed), and the answer. */
export interface Step<Answer> {
  readonly state: SubjectState;
  readonly answer: Answer;
}

/** A clock that steps back by at most this freezes time. A longer step drops the minute and moves the rest along. */
const STEP_BACK_MAX_MS = 60_000;
/** How much longer than needed a state is kept: for a clock that steps back. */
const KEEP_SLACK_MS = 60_000;

const NO_STATE: SubjectState = { atMs: 0, minute: EMPTY_LOG, day: EMPTY_LOG, penalty: NO_PENALTY };

/** Brings a state to the present: what has left the windows is gone, and what no longer matters is forgotten. */
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
 * Decides on a request. The whole algorithm, as a pure function: the script in Redis does the same, byte for byte.
 *
 * @param stored the state as it was kept, if any was
 * @param nowMs the clock, in milliseconds since the epoch
 */
export function checkState(
  stored: SubjectState | undefined,
  subject: RateLimitSubject,
  cost: number,
  nowMs: number,
): Step<RateLimitDecision> {
  const state = advance(stored ?? NO_STATE, nowMs);
  const { atMs, minute, day, penalty } = state;
  if (isBanned(penalty, atMs)) {
    // A request during a ban leaves no trace, but that the clock stepped back: else the ban would stand still with it.
    const isMoved = stored === undefined || atMs < stored.atMs;
    return { state: isMoved ? state : stored, answer: bannedAnswer(state, subject, cost, nowMs) };
  }
  const release = findRelease(state, subject, cost);
  if (release === undefined) {
    const admitted: SubjectState = {
      atMs,
      minute: addToLog(minute, MINUTE_WINDOW, atMs, cost),
      day: subject.perDay === undefined ? day : addToLog(day, DAY_WINDOW, atMs, cost),
      penalty,
    };
    return { state: admitted, answer: { outcome: 'admitted', ...standingOf(admitted, subject, nowMs) } };
  }
  const bannable = subject.type === 'api-key';
  const refused = refuse(penalty, { ...release, atMs, perMinute: subject.perMinute, bannable });
  const next: SubjectState = { atMs, minute, day, penalty: refused.penalty };
  if (refused.banned) {
    return { state: next, answer: bannedAnswer(next, subject, cost, nowMs) };
  }
  const retryAfterSeconds = wholeSecondsUntil(refused.retryAtMs, nowMs);
  return {
    state: next,
    answer: { outcome: 'rate_limit_exceeded', ...standingOf(next, subject, nowMs), ...release, retryAfterSeconds },
  };
}

/** Tells where a subject stands. */
export function peekState(
  stored: SubjectState | undefined,
  subject: RateLimitSubject,
  nowMs: number,
): RateLimitSnapshot {
  const state = advance(stored ?? NO_STATE, nowMs);
  const { atMs, minute, day, penalty } = state;
  return {
    outcome: 'peeked',
    ...standingOf(state, subject, nowMs),
    used: { minute: minute.total, day: subject.perDay === undefined ? undefined : day.total },
    strikes: strikesAt(penalty, atMs),
    ban: isBanned(penalty, atMs) ? { untilMs: penalty.banUntilMs, level: penalty.banLevel } : undefined,
  };
}

/** Logs what was admitted elsewhere. */
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

/** Lifts a ban: strikes and level are forgotten too. */
export const pardonState = (stored: SubjectState): SubjectState => ({ ...stored, penalty: NO_PENALTY });

/** How long a state has to be kept, in milliseconds from its own time. */
export function keepForMs(state: SubjectState, type: RateLimitSubject['type']): number {
  const spec: WindowSpec = type === 'api-key' ? DAY_WINDOW : MINUTE_WINDOW;
  const penaltyMs = state.penalty === NO_PENALTY ? 0 : penaltyRestsAtMs(state.penalty) - state.atMs;
  return Math.max(spec.lengthMs, penaltyMs) + spec.quantumMs + KEEP_SLACK_MS;
}

interface Release {
  readonly limitingWindow: WindowName;
  readonly releaseAtMs: number;
}

/** When a request will fit that does not now; `undefined` where it does. */
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

function bannedAnswer(state: SubjectState, subject: RateLimitSubject, cost: number, nowMs: number): RateLimitDecision {
  const bannedUntilMs = state.penalty.banUntilMs;
  const standing = standingOf(state, subject, nowMs);
  const release = findRelease(state, subject, cost);
  const releaseAtMs = Math.max(bannedUntilMs, release?.releaseAtMs ?? 0);
  return {
    outcome: 'api_key_banned',
    ...standing,
    limitingWindow: release?.limitingWindow ?? tightestWindow(standing),
    bannedUntilMs,
    releaseAtMs,
    retryAfterSeconds: wholeSecondsUntil(releaseAtMs, nowMs),
  };
}

function standingOf(state: SubjectState, subject: RateLimitSubject, nowMs: number): RateLimitStatus {
  const { atMs, minute, day } = state;
  return {
    atMs: nowMs,
    minute: windowStanding(minute, MINUTE_WINDOW, subject.perMinute, atMs),
    day: subject.perDay === undefined ? undefined : windowStanding(day, DAY_WINDOW, subject.perDay, atMs),
  };
}

const windowStanding = (log: WindowLog, spec: WindowSpec, limit: number, atMs: number): WindowStatus => ({
  limit,
  remaining: Math.max(0, limit - log.total),
  resetAtMs: nextFreedAtMs(log, spec, limit, atMs),
});

const strikesAt = ({ spanStartMs, strikes }: Penalty, atMs: number): number =>
  atMs - spanStartMs < STRIKE_SPAN_MS ? strikes : 0;
