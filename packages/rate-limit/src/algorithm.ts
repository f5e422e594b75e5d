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

/** Buckets begin every `width` ms and count until `hold` ms after they began. None begins later than `ahead` ms from now. */
export interface Kind {
  readonly width: number;
  readonly hold: number;
  readonly ahead: number;
}

/** A unit counts for the length of the window and until its bucket ends: at most one width longer. */
export const MINUTE: Kind = { width: 1_000, hold: 61_000, ahead: 0 };
export const DAY: Kind = { width: 900_000, hold: 87_300_000, ahead: 0 };
/** A refusal counts until the beginning of the bucket of its retry time. */
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

export interface Limits extends Pick<Subject, 'perMinute' | 'perDay'> {
  /** The whole limit if `perMinute` is a share of it: bans depend on the whole. @default `perMinute` */
  readonly wholePerMinute?: number;
}

/** Units of each window. */
export interface Use {
  readonly minute: number;
  readonly day: number;
}

interface Refusal {
  /** The window that releases last; `none` if only a ban refuses. */
  readonly window: 'minute' | 'day' | 'none';
  /** When the request would fit if no others came. */
  readonly release: number;
  /** When the caller should come back. */
  readonly retry: number;
}

/** The decision on a request. */
export type Verdict =
  | { readonly outcome: 'admitted' }
  | ({ readonly outcome: 'refused' } & Refusal)
  | ({ readonly outcome: 'banned' | 'newly banned'; readonly level: number; readonly bannedUntil: number } & Refusal);

const newLog = (): Log => ({ total: 0, buckets: [] });

export const newState = (): State => ({
  minute: newLog(),
  day: newLog(),
  refusals: newLog(),
  level: 0,
  bannedUntil: 0,
});

const endOf = ({ width, hold }: Kind, { number }: Bucket): number => number * width + hold;

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

/** When the next unit of each window is freed. */
export const resetsOf = ({ minute, day }: State, { perMinute, perDay = 0 }: Limits, now: number): Use => ({
  minute: resetOf(minute, MINUTE, perMinute, now),
  day: resetOf(day, DAY, perDay, now),
});

/** Brings a state to the present, which the functions below require. */
export function advance(state: State, now: number): void {
  expire(state.minute, MINUTE, now);
  expire(state.day, DAY, now);
  expire(state.refusals, REFUSALS, now);
  state.bannedUntil = Math.min(state.bannedUntil, now + (BAN_DURATIONS_MS[state.level - 1] ?? 0));
  if (state.bannedUntil + BAN_MEMORY <= now) state.level = state.bannedUntil = 0;
}

/** Counts units, whether they fit or not. */
export function debit(state: State, { perDay }: Limits, use: Use, now: number): void {
  add(state.minute, MINUTE, now, use.minute);
  if (perDay !== undefined) add(state.day, DAY, now, use.day);
}

/**
 * Ends a ban and drops the refusals.
 *
 * @internal operators lift bans only in Redis; this function is compared with the script
 */
export function lift(state: State): void {
  state.refusals = newLog();
  state.level = state.bannedUntil = 0;
}

function ban(state: State, now: number): void {
  state.refusals = newLog();
  state.level = Math.min(state.level + 1, BAN_DURATIONS_MS.length);
  state.bannedUntil = now + (BAN_DURATIONS_MS[state.level - 1] ?? 0);
}

/**
 * Counts a refusal, and returns when to come back. If the minute refuses, this is when a unit will be free for this caller,
 * behind all those who were asked to come earlier: no more callers are asked to come at a time than there will be room
 * for. Callers that have waited come together, and therefore none of them takes everything.
 *
 * A refusal counts until then, less 2 s for clients that round down, and for at most a minute. A caller that obeys has at
 * most one refusal that counts. A pool of up to max(2 x limit, 250) such callers is therefore never banned.
 *
 * @param over the number of units by which the request exceeds the minute's limit
 */
function refuse(
  state: State,
  limits: Limits,
  { window, release, over }: Omit<Refusal, 'retry'> & { readonly over: number },
  now: number,
): number {
  const { minute, refusals } = state;
  const units = Math.min(over + refusals.total, minute.total);
  const retry = window === 'minute' ? freeAt(minute, MINUTE, units, now) : release;
  const told = now + Math.ceil((retry - now) / 1_000) * 1_000;
  add(refusals, REFUSALS, Math.min(told - 2_000, now + 60_000), 1);
  expire(refusals, REFUSALS, now);
  const { perMinute, perDay, wholePerMinute = perMinute } = limits;
  if (perDay !== undefined && refusals.total > Math.max(2 * wholePerMinute, 250)) ban(state, now);
  return retry;
}

/** Admits a request in both windows, or in neither. A request during a ban changes nothing. */
export function decide(state: State, limits: Limits, cost: number, now: number): Verdict {
  const minuteOver = state.minute.total + cost - limits.perMinute;
  const dayOver = limits.perDay === undefined ? 0 : state.day.total + cost - limits.perDay;
  const minuteRelease = minuteOver > 0 ? freeAt(state.minute, MINUTE, minuteOver, now) : now;
  const dayRelease = dayOver > 0 ? freeAt(state.day, DAY, dayOver, now) : now;
  const window = dayOver > 0 && dayRelease >= minuteRelease ? 'day' : minuteOver > 0 ? 'minute' : 'none';
  let release = Math.max(minuteRelease, dayRelease);
  let outcome: 'banned' | 'newly banned' = 'banned';
  if (state.bannedUntil <= now) {
    if (window === 'none') {
      debit(state, limits, { minute: cost, day: cost }, now);
      return { outcome: 'admitted' };
    }
    const retry = refuse(state, limits, { window, release, over: minuteOver }, now);
    if (state.bannedUntil <= now) return { outcome: 'refused', window, release, retry };
    outcome = 'newly banned';
  }
  release = Math.max(release, state.bannedUntil);
  return { outcome, window, release, retry: release, level: state.level, bannedUntil: state.bannedUntil };
}
