import type { Ban, WindowName } from '../port.ts';
import { MINUTE_WINDOW } from './window-log.ts';

/** How long the 1st, 2nd, 3rd and every later ban in a row lasts, in milliseconds. */
const BAN_DURATIONS_MS = [60_000, 300_000, 900_000, 3_600_000] as const;
/** The next ban is a first one again this long after the last ended. */
const BAN_LEVEL_MEMORY_MS = 86_400_000;
/** Refusals are counted by the span of this length in which they cease to count. */
const SPAN_MS = 10_000;
/** Refusals that ask to come back later than this many spans from now count no longer than those. */
const SPANS = 6;
/** Clients that round down, or whose clock is ahead, come back this much earlier than they were asked to. */
const EARLY_RETURN_MS = 2_000;
/** A caller that is refused this soon after a request was admitted has probably just used the units itself. */
const JUST_ADMITTED_MS = 200;

/** How many refusals cease to count in the next span, in the one after it, and so on. */
type RefusalCounts = readonly [number, number, number, number, number, number];

/** The record of refusals. It belongs to a time: that of the state. */
export interface Penalty {
  readonly counts: RefusalCounts;
  /** The latest time that a refusal by the minute may have been asked to come back at; 0 where that has passed. */
  readonly queueEndMs: number;
  /** 0 where there was no ban. */
  readonly banUntilMs: number;
  /** The level of the last ban, 1 to 4; 0 where there was none. */
  readonly banLevel: number;
}

const NO_COUNTS: RefusalCounts = [0, 0, 0, 0, 0, 0];
export const NO_PENALTY: Penalty = { counts: NO_COUNTS, queueEndMs: 0, banUntilMs: 0, banLevel: 0 };

/** The refusals that count towards a ban. */
export const countRefusals = ({ counts: [a, b, c, d, e, f] }: Penalty): number => a + b + c + d + e + f;

export const isBanned = (penalty: Penalty, atMs: number): boolean => penalty.banLevel > 0 && atMs < penalty.banUntilMs;

/** Brings the record from one time to a later one: drops what does not matter any more. */
export function advancePenalty(penalty: Penalty, fromMs: number, atMs: number): Penalty {
  if (penalty === NO_PENALTY) return penalty;
  const { queueEndMs, banUntilMs, banLevel } = penalty;
  const keepsBan = banLevel > 0 && atMs < banUntilMs + BAN_LEVEL_MEMORY_MS;
  return orNone({
    counts: moveCounts(penalty.counts, spanOf(atMs) - spanOf(fromMs)),
    queueEndMs: queueEndMs > atMs ? queueEndMs : 0,
    banUntilMs: keepsBan ? banUntilMs : 0,
    banLevel: keepsBan ? banLevel : 0,
  });
}

/** The record after the clock has stepped back: the ban moves along; refusals are forgotten, as the minute is. */
export const movePenaltyBack = ({ banUntilMs, banLevel }: Penalty, byMs: number): Penalty =>
  orNone({ ...NO_PENALTY, banUntilMs: banLevel > 0 ? banUntilMs - byMs : 0, banLevel });

/** The record with a ban that another record held: it ends no earlier, and the next one is longer. */
export const restoreBan = (penalty: Penalty, { untilMs, level }: Ban): Penalty => ({
  ...penalty,
  banUntilMs: Math.max(penalty.banUntilMs, untilMs),
  banLevel: Math.max(penalty.banLevel, level),
});

/** A request that did not fit. */
export interface Refusal {
  readonly atMs: number;
  /** The clock; behind `atMs` where it stepped back. */
  readonly nowMs: number;
  readonly cost: number;
  readonly limitingWindow: WindowName;
  readonly releaseAtMs: number;
  /** How many units fit at the release, if nothing else comes. */
  readonly roomAtRelease: number;
  /** When a request was last admitted. */
  readonly lastHitMs: number;
  readonly perMinute: number;
  /** More refusals than this at once are a ban; `undefined` for a subject that is never banned. */
  readonly refusalsMax: number | undefined;
}

/**
 * Records a refusal, and decides when to come back and whether it is a ban.
 *
 * A refusal counts until the time at which it asks to come back, less 2 s, and for a minute at most. A caller that
 * obeys has at most one that counts. So no number of obedient callers up to `refusalsMax` is ever banned, however they
 * begin, pause and lag; and a stream with no more than that is indistinguishable from so many obedient callers.
 */
export function refuse(penalty: Penalty, refusal: Refusal): { penalty: Penalty; retryAtMs: number; isNewBan: boolean } {
  const { atMs, nowMs, refusalsMax } = refusal;
  const { retryAtMs, queueEndMs } = findSlot(penalty, refusal);
  const toldMs = nowMs + Math.ceil((retryAtMs - nowMs) / 1_000) * 1_000;
  const span = Math.min(spanOf(toldMs - EARLY_RETURN_MS) - spanOf(atMs), SPANS);
  const counts = span < 1 ? penalty.counts : addCount(penalty.counts, span - 1);
  const next: Penalty = { ...penalty, counts, queueEndMs };
  if (refusalsMax === undefined || countRefusals(next) <= refusalsMax) {
    return { penalty: orNone(next), retryAtMs, isNewBan: false };
  }
  const banLevel = Math.min(penalty.banLevel + 1, BAN_DURATIONS_MS.length);
  const banUntilMs = atMs + (BAN_DURATIONS_MS[banLevel - 1] ?? 0);
  return { penalty: { counts: NO_COUNTS, queueEndMs, banUntilMs, banLevel }, retryAtMs, isNewBan: true };
}

/**
 * When a refused request is to come back. A day's refusals do so when the day has room.
 *
 * Callers that share a minute would all return at its release, and the one that had just used it up would be the first to
 * be refused and so the first to be asked again. So each refusal draws a slot in a queue, which begins at the release and
 * in which requests lie as far apart as the limit allows. A caller that comes when others have already used the units is
 * not drawn: it is asked to come at the release itself, as long as there is room for all that were asked before.
 */
function findSlot(penalty: Penalty, refusal: Refusal): { retryAtMs: number; queueEndMs: number } {
  const { atMs, cost, limitingWindow, releaseAtMs, roomAtRelease, lastHitMs, perMinute } = refusal;
  const { queueEndMs } = penalty;
  const refusals = countRefusals(penalty);
  const hasWaited = atMs - lastHitMs >= JUST_ADMITTED_MS && (refusals + 1) * cost <= roomAtRelease;
  if (limitingWindow === 'day' || hasWaited) return { retryAtMs: releaseAtMs, queueEndMs };
  const { lengthMs } = MINUTE_WINDOW;
  const behind = queueEndMs === 0 ? releaseAtMs : Math.max(releaseAtMs, queueEndMs + lengthMs / perMinute);
  const endMs = Math.min(behind, releaseAtMs + lengthMs);
  const drawn = draw(atMs, queueEndMs, refusals);
  return {
    retryAtMs: releaseAtMs + Math.floor((endMs - releaseAtMs) * (drawn / DRAWS)),
    // Rounded up as often as its fraction of a millisecond says, so that slots shorter than one add up.
    queueEndMs: Math.floor(endMs + (drawn % 1_024) / 1_024),
  };
}

/** How many numbers may be drawn: a prime, as the draw needs. */
const DRAWS = 2_147_483_647;
const MIXED_MAX = 2_097_143;

/** A number below {@link DRAWS}, evenly spread, but the same for the same refusal. All products are exact in a double. */
function draw(atMs: number, queueEndMs: number, refusals: number): number {
  const mixed = ((atMs % MIXED_MAX) * 31 + (queueEndMs % MIXED_MAX) * 17 + refusals * 7) % MIXED_MAX;
  return (((mixed * 1_597_334_677) % DRAWS) * 48_271) % DRAWS;
}

const spanOf = (atMs: number): number => Math.floor(atMs / SPAN_MS);

function moveCounts(counts: RefusalCounts, by: number): RefusalCounts {
  if (by <= 0) return counts;
  const at = (i: number) => counts[i + by] ?? 0;
  return [at(0), at(1), at(2), at(3), at(4), at(5)];
}

function addCount(counts: RefusalCounts, index: number): RefusalCounts {
  const at = (i: number) => (counts[i] ?? 0) + (i === index ? 1 : 0);
  return [at(0), at(1), at(2), at(3), at(4), at(5)];
}

/** A record that says nothing is none. */
const orNone = (penalty: Penalty): Penalty =>
  penalty.banLevel === 0 && penalty.queueEndMs === 0 && countRefusals(penalty) === 0 ? NO_PENALTY : penalty;
