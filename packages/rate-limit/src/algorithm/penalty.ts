import type { WindowName } from '../port.ts';
import { MINUTE_WINDOW } from './window-log.ts';

/** How long the 1st, 2nd, 3rd and every later ban in a row lasts, in milliseconds. */
const BAN_DURATIONS_MS = [60_000, 300_000, 900_000, 3_600_000] as const;
/** The next ban is a first one again this long after the last ended. */
const BAN_LEVEL_MEMORY_MS = 86_400_000;
/** Strikes are counted in spans of this length, which begin with a refusal. */
export const STRIKE_SPAN_MS = 60_000;
/** Refusals this soon after a span began are no strikes: they were in flight when the first was sent. */
const STRIKE_GRACE_MS = 2_000;
/** Callers that have not returned for this long after their Retry-After are forgotten. */
const RETURN_MEMORY_MS = 3_600_000;

/** The record of refusals. */
export interface Penalty {
  /** When the span of strikes began. */
  readonly spanStartMs: number;
  /** Strikes in the span. */
  readonly strikes: number;
  /** The last spaced time that was promised. May hold a fraction: at high limits promises lie less than 1 ms apart. */
  readonly lastPromiseMs: number;
  /** Callers whose Retry-After is over, and that have not been refused since. */
  readonly returnsDue: number;
  /** Callers whose Retry-After ends at `firstReturnMs` or later. */
  readonly returnsPending: number;
  readonly firstReturnMs: number;
  readonly banUntilMs: number;
  /** The level of the last ban, 1 to 4; 0 where there was none. */
  readonly banLevel: number;
}

export const NO_PENALTY: Penalty = {
  spanStartMs: 0,
  strikes: 0,
  lastPromiseMs: 0,
  returnsDue: 0,
  returnsPending: 0,
  firstReturnMs: 0,
  banUntilMs: 0,
  banLevel: 0,
};

/**
 * From when on nothing in the record matters any more.
 *
 * @internal exported for its tests
 */
export function penaltyRestsAtMs(penalty: Penalty): number {
  return Math.max(
    penalty.spanStartMs + RETURN_MEMORY_MS,
    penalty.returnsPending > 0 ? penalty.firstReturnMs + RETURN_MEMORY_MS : 0,
    penalty.banLevel > 0 ? penalty.banUntilMs + BAN_LEVEL_MEMORY_MS : 0,
  );
}

export const settlePenalty = (penalty: Penalty, atMs: number): Penalty =>
  penalty !== NO_PENALTY && atMs >= penaltyRestsAtMs(penalty) ? NO_PENALTY : penalty;

export const isBanned = (penalty: Penalty, atMs: number): boolean => penalty.banLevel > 0 && atMs < penalty.banUntilMs;

/** A request that did not fit. */
export interface Refusal {
  readonly atMs: number;
  readonly limitingWindow: WindowName;
  readonly releaseAtMs: number;
  readonly perMinute: number;
  readonly bannable: boolean;
}

/**
 * Records a refusal.
 *
 * Each refusal that is no strike entitles to one later refusal that is none either, from the earliest time that was
 * promised since: so callers that share a key, obey Retry-After and begin together are not banned, however many.
 */
export function refuse(penalty: Penalty, refusal: Refusal): { penalty: Penalty; retryAtMs: number; banned: boolean } {
  const { atMs } = refusal;
  let { spanStartMs, strikes, returnsDue, returnsPending, firstReturnMs, lastPromiseMs } = penalty;
  const retryAtMs = promiseAtMs(lastPromiseMs, refusal);
  if (refusal.limitingWindow === 'minute') lastPromiseMs = retryAtMs;
  if (penalty === NO_PENALTY || atMs - spanStartMs >= STRIKE_SPAN_MS) {
    spanStartMs = atMs;
    strikes = 0;
  }
  if (returnsPending > 0 && atMs >= firstReturnMs) {
    returnsDue += returnsPending;
    returnsPending = 0;
  }
  if (returnsDue === 0 && refusal.bannable && atMs - spanStartMs > STRIKE_GRACE_MS) {
    strikes += 1;
    if (strikes >= refusal.perMinute)
      return { penalty: ban(penalty, spanStartMs, lastPromiseMs, atMs), retryAtMs, banned: true };
  } else {
    if (returnsDue > 0) returnsDue -= 1;
    firstReturnMs = returnsPending === 0 ? Math.floor(retryAtMs) : Math.min(firstReturnMs, Math.floor(retryAtMs));
    returnsPending += 1;
  }
  const { banUntilMs, banLevel } = penalty;
  return {
    penalty: { spanStartMs, strikes, lastPromiseMs, returnsDue, returnsPending, firstReturnMs, banUntilMs, banLevel },
    retryAtMs,
    banned: false,
  };
}

/** Refusals by the minute are promised times as far apart as requests may be, for at most a minute. */
function promiseAtMs(lastPromiseMs: number, { limitingWindow, releaseAtMs, perMinute }: Refusal): number {
  if (limitingWindow === 'day') return releaseAtMs;
  const { lengthMs } = MINUTE_WINDOW;
  return Math.min(Math.max(releaseAtMs, lastPromiseMs + lengthMs / perMinute), releaseAtMs + lengthMs);
}

function ban({ banUntilMs, banLevel }: Penalty, spanStartMs: number, lastPromiseMs: number, atMs: number): Penalty {
  const before = atMs >= banUntilMs + BAN_LEVEL_MEMORY_MS ? 0 : banLevel;
  const level = Math.min(before + 1, BAN_DURATIONS_MS.length);
  const durationMs = BAN_DURATIONS_MS[level - 1] ?? 0;
  return { ...NO_PENALTY, spanStartMs, lastPromiseMs, banUntilMs: atMs + durationMs, banLevel: level };
}
