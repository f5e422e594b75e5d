import { createBannedDecision, createRefusedDecision, statusOf } from './decision.ts';
import type { RateLimitDecision, RateLimitSnapshot, RateLimitStatus } from './rate-limiter.ts';
import type { Subject } from './subject.ts';

// The rules, as functions of a state and the time. limiter.lua has the same functions with the same names; both must be
// changed together. All times are milliseconds since the epoch.

/** Units that count until the same time. A bucket's number is the time at which it began, divided by the bucket width. */
interface Bucket {
  readonly number: number;
  count: number;
}

/** The oldest bucket first. */
interface Log {
  total: number;
  buckets: Bucket[];
}

/**
 * Buckets begin every `width` ms and count until `hold` ms after they began. None begins later than `ahead` ms from now:
 * units lie in the bucket of the time at which they were used, refusals in that of the time at which to come back.
 */
interface Kind {
  readonly width: number;
  readonly hold: number;
  readonly ahead: number;
}

/** A unit counts for the length of the window and until its bucket ends: at most one width longer. */
export const MINUTE: Kind = { width: 1_000, hold: 61_000, ahead: 0 };
export const DAY: Kind = { width: 900_000, hold: 87_300_000, ahead: 0 };
/** A refusal counts until the bucket begins that it lies in. */
const REFUSALS: Kind = { width: 10_000, hold: 0, ahead: 60_000 };
/** How long the first, second, third and every later ban in a row lasts: bans of levels 1 to 4. */
export const BAN_DURATIONS_MS = [60_000, 300_000, 900_000, 3_600_000];
/** How long after the end of a ban the next ban is a first one again. */
const BAN_MEMORY = 86_400_000;

/** The whole state of a subject. */
export interface State {
  minute: Log;
  day: Log;
  refusals: Log;
  /** The level of the last ban, 1 to 4; 0 if there was none. */
  level: number;
  bannedUntil: number;
}

const newLog = (): Log => ({ total: 0, buckets: [] });

export const newState = (): State => ({
  minute: newLog(),
  day: newLog(),
  refusals: newLog(),
  level: 0,
  bannedUntil: 0,
});

const endOf = ({ width, hold }: Kind, { number }: Bucket): number => number * width + hold;

/** Counts units in the bucket of a time. */
function add(log: Log, { width }: Kind, time: number, count: number): void {
  if (count === 0) return;
  const number = Math.floor(time / width);
  const i = log.buckets.findLastIndex((other) => other.number <= number);
  const bucket = log.buckets[i];
  if (bucket?.number === number) bucket.count += count;
  else log.buckets.splice(i + 1, 0, { number, count });
  log.total += count;
}

/** Drops expired buckets. If the clock was set back, buckets that lie in the future are moved to the present. */
function expire(log: Log, kind: Kind, now: number): void {
  const latest = Math.floor((now + kind.ahead) / kind.width);
  const ahead = log.buckets.splice(log.buckets.findLastIndex(({ number }) => number <= latest) + 1);
  for (const { count } of ahead) {
    log.total -= count;
    add(log, kind, now, count);
  }
  const first = log.buckets.findIndex((bucket) => endOf(kind, bucket) > now);
  const over = log.buckets.splice(0, first === -1 ? log.buckets.length : first);
  for (const { count } of over) log.total -= count;
}

/** When this many units will be free again if none are added. */
function freeAt(log: Log, kind: Kind, units: number, now: number): number {
  let freed = 0;
  for (const bucket of log.buckets) {
    freed += bucket.count;
    if (freed >= units) return endOf(kind, bucket);
  }
  return now;
}

/** When `remaining` grows next; now if nothing is used. */
const resetOf = (log: Log, kind: Kind, limit: number, now: number): number =>
  freeAt(log, kind, Math.max(1, log.total - limit + 1), now);

/** Brings a state to the present, which the functions below require. */
export function advance(state: State, now: number): void {
  expire(state.minute, MINUTE, now);
  expire(state.day, DAY, now);
  expire(state.refusals, REFUSALS, now);
  state.bannedUntil = Math.min(state.bannedUntil, now + (BAN_DURATIONS_MS[state.level - 1] ?? 0));
  if (state.bannedUntil + BAN_MEMORY <= now) state.level = state.bannedUntil = 0;
}

/** The status of a subject in this state. */
export function statusAt({ minute, day }: State, subject: Subject, now: number): RateLimitStatus {
  const { perMinute, perDay = 0 } = subject;
  const ofDay = [day.total, resetOf(day, DAY, perDay, now)] as const;
  return statusOf(subject, now, [minute.total, resetOf(minute, MINUTE, perMinute, now)], ofDay);
}

/** The status, with what counts towards a ban. */
export function read(state: State, subject: Subject, now: number): RateLimitSnapshot {
  const { refusals, level, bannedUntil } = state;
  const ban = bannedUntil > now ? { untilMs: bannedUntil, level } : undefined;
  return { ...statusAt(state, subject, now), refusals: refusals.total, ban };
}

function ban(state: State, now: number): void {
  state.refusals = newLog();
  state.level = Math.min(state.level + 1, BAN_DURATIONS_MS.length);
  state.bannedUntil = now + (BAN_DURATIONS_MS[state.level - 1] ?? 0);
}

/**
 * When a request that the minute refuses should come back. Earlier refusals are served first: each unit that will be free is
 * promised to one waiting caller, so callers that come back at the same time all fit.
 *
 * @param over the number of units by which the request exceeds the limit
 */
const promiseOfMinute = ({ minute, refusals }: State, over: number, now: number): number =>
  freeAt(minute, MINUTE, Math.min(over + refusals.total, minute.total), now);

/**
 * Counts a refusal until the time that its caller was told, less 2 s for clients that round down, and for at most a minute. A
 * caller that obeys has at most one refusal that counts.
 */
function countRefusal({ refusals }: State, retryAtMs: number, now: number): void {
  const told = now + Math.ceil((retryAtMs - now) / 1_000) * 1_000;
  add(refusals, REFUSALS, Math.min(told - 2_000, now + 60_000), 1);
  expire(refusals, REFUSALS, now);
}

interface Request {
  /** In units. */
  readonly cost: number;
  /** How many refusals may count at once; one more is a ban. `undefined`: none is. */
  readonly refusalsMax: number | undefined;
}

/** Admits a request in both windows, or in neither. A request during a ban changes nothing. */
export function decide(state: State, subject: Subject, { cost, refusalsMax }: Request, now: number): RateLimitDecision {
  const minuteOver = state.minute.total + cost - subject.perMinute;
  const dayOver = subject.perDay === undefined ? 0 : state.day.total + cost - subject.perDay;
  const minuteRelease = minuteOver > 0 ? freeAt(state.minute, MINUTE, minuteOver, now) : now;
  const dayRelease = dayOver > 0 ? freeAt(state.day, DAY, dayOver, now) : now;
  const window = dayOver > 0 && dayRelease >= minuteRelease ? 'day' : minuteOver > 0 ? 'minute' : 'none';
  const releaseAtMs = Math.max(minuteRelease, dayRelease);
  const isNew = state.bannedUntil <= now;
  if (isNew) {
    if (window === 'none') {
      add(state.minute, MINUTE, now, cost);
      if (subject.perDay !== undefined) add(state.day, DAY, now, cost);
      return { outcome: 'admitted', ...statusAt(state, subject, now) };
    }
    const retryAtMs = window === 'minute' ? promiseOfMinute(state, minuteOver, now) : releaseAtMs;
    countRefusal(state, retryAtMs, now);
    if (refusalsMax === undefined || state.refusals.total <= refusalsMax) {
      return createRefusedDecision(statusAt(state, subject, now), { window, releaseAtMs, retryAtMs });
    }
    ban(state, now);
  }
  const inForce = { untilMs: state.bannedUntil, level: state.level };
  return createBannedDecision(statusAt(state, subject, now), inForce, { window, releaseAtMs }, isNew);
}
