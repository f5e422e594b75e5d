import { STEP_BACK_MAX_MS } from '../algorithm/subject-state.ts';
import { DAY_WINDOW, MINUTE_WINDOW, type WindowSpec } from '../algorithm/window-log.ts';
import { bannedDecisionOf } from '../headers.ts';
import {
  type Ban,
  type RateLimitDecision,
  type RateLimitRefusal,
  type RateLimitStatus,
  type RateLimitUse,
  type RecalledStatus,
  type WindowStatus,
  wholeSecondsUntil,
} from '../port.ts';
import type { RateLimitSubject } from '../subject.ts';
import { type LastUse, recallStatus } from './recalled-status.ts';
import { createSubjectCache } from './subject-cache.ts';

/** How long a process relies on a ban that it remembers: a lifted ban ends everywhere within this time. */
const BAN_MEMORY_MS = 5_000;

/** How long the day holds what the minute holds: a hit in the minute is at most a minute and a quantum old. */
const MINUTE_IN_DAY_MS = DAY_WINDOW.lengthMs - MINUTE_WINDOW.lengthMs - MINUTE_WINDOW.quantumMs;

interface RememberedDecision {
  decision: RateLimitDecision;
  /** By the monotonic clock. Set for refusals only. */
  learnedAtMs: number;
  readonly seen: SeenUse;
}

/** What a reply says beside its decision. */
type Lesson = 'nothing new' | 'new ban' | 'Redis forgot';

/** What Redis must hold of a subject. */
export interface SeenState {
  readonly use: RateLimitUse;
  /** In force when Redis was last asked. */
  readonly ban: Ban | undefined;
}

/**
 * The last decision of Redis on each subject. Two kinds of refusals hold for every further request and are repeated
 * without Redis: the ban of a key, for up to 5 s, and the used-up limit of an address, until its next unit is freed.
 *
 * Notices what Redis forgets: its replies cannot show less than was seen before. A ban that is missing does not prove
 * it, because an operator may have lifted that; where use is missing as well, the ban was forgotten with it.
 */
export class DecisionMemory {
  readonly #decisions = createSubjectCache<RememberedDecision>();
  readonly #nowMs: () => number;
  /** Never runs backwards. */
  readonly #monotonicMs: () => number;
  /** How far the clock of this process is ahead of Redis' clock, by which decisions go. */
  #clockOffsetMs = 0;

  /** @param nowMs a clock in place of both of this process, in milliseconds since the epoch: for tests */
  constructor(nowMs?: () => number) {
    this.#nowMs = nowMs ?? Date.now;
    this.#monotonicMs = nowMs ?? (() => performance.now());
  }

  /** @param cost that of the request that was decided on */
  remember(subject: RateLimitSubject, decision: RateLimitDecision, cost: number, clockOffsetMs: number): Lesson {
    this.#clockOffsetMs = clockOffsetMs;
    const learnedAtMs = decision.outcome === 'admitted' ? 0 : this.#monotonicMs();
    const cache = this.#decisions[subject.type];
    const admittedCost = decision.outcome === 'admitted' ? cost : 0;
    const known = cache.get(subject.storageKey);
    if (known === undefined) {
      const seen = new SeenUse();
      seen.observe(decision, admittedCost);
      cache.set(subject.storageKey, { decision, learnedAtMs, seen });
      return decision.outcome === 'api_key_banned' ? 'new ban' : 'nothing new';
    }
    if (known.seen.observe(decision, admittedCost)) {
      known.decision = correct(decision, known);
      known.learnedAtMs = this.#monotonicMs();
      return 'Redis forgot';
    }
    const isNewBan = decision.outcome === 'api_key_banned' && bannedUntilMs(known.decision) !== decision.bannedUntilMs;
    known.decision = decision;
    known.learnedAtMs = learnedAtMs;
    return isNewBan ? 'new ban' : 'nothing new';
  }

  /**
   * Records a status without a ban: one that was remembered is over, or was lifted, unless it is missing with use.
   *
   * @returns whether Redis has forgotten some of what was seen
   */
  observe(subject: RateLimitSubject, status: RateLimitStatus): boolean {
    const known = this.#decisions[subject.type].peek(subject.storageKey);
    if (known === undefined) return false;
    if (known.seen.observe(status, 0)) return true;
    const { atMs, minute, day } = status;
    if (known.decision.outcome === 'api_key_banned') known.decision = { outcome: 'admitted', atMs, minute, day };
    return false;
  }

  /** What Redis must hold of a subject; `undefined` where it was not seen. */
  seenState(subject: RateLimitSubject): SeenState | undefined {
    const known = this.#decisions[subject.type].peek(subject.storageKey);
    return known && { use: known.seen.use, ban: banIn(known.decision) };
  }

  /**
   * Adds what was debited in Redis, or may have been: it is counted there after all once it turns out to be missing.
   *
   * @param atMs no later than it was logged there, by the clock of that Redis
   * @returns whether the subject is remembered
   */
  addDebit(subject: RateLimitSubject, use: RateLimitUse, atMs: number): boolean {
    const known = this.#decisions[subject.type].peek(subject.storageKey);
    known?.seen.add(use, atMs);
    return known !== undefined;
  }

  /** The refusal that any request of the subject meets now, if one is known to be in force. */
  refusalOf(subject: RateLimitSubject): RateLimitRefusal | undefined {
    const known = this.#decisions[subject.type].peek(subject.storageKey);
    if (known === undefined || known.decision.outcome === 'admitted') return undefined;
    const { decision, learnedAtMs } = known;
    // A key may send a cheaper request than the one that did not fit; a request of an address always costs 1.
    if (decision.outcome === 'rate_limit_exceeded' && subject.type === 'api-key') return undefined;
    const elapsedMs = this.#monotonicMs() - learnedAtMs;
    const atMs = decision.atMs + elapsedMs;
    const hasEnded =
      decision.outcome === 'api_key_banned'
        ? elapsedMs >= BAN_MEMORY_MS || atMs >= decision.bannedUntilMs
        : atMs >= decision.releaseAtMs;
    if (hasEnded) return undefined;
    const retryAfterSeconds = wholeSecondsUntil(decision.retryAtMs, atMs);
    return decision.outcome === 'api_key_banned'
      ? { ...decision, atMs, retryAfterSeconds, isNew: false }
      : { ...decision, atMs, retryAfterSeconds };
  }

  /** The last decision, in the time of this process. */
  lastDecision(subject: RateLimitSubject): LastUse<RateLimitDecision> | undefined {
    const last = lastUse(this.#decisions[subject.type].get(subject.storageKey));
    if (last === undefined) return undefined;
    const { decision, use } = last;
    const atMs = decision.atMs + this.#clockOffsetMs;
    return decision.outcome === 'api_key_banned'
      ? { decision: { ...decision, atMs, bannedUntilMs: decision.bannedUntilMs + this.#clockOffsetMs }, use }
      : { decision: { ...decision, atMs }, use };
  }

  /** The status by the last decision. A subject without one has sent nothing. */
  recall(subject: RateLimitSubject): RecalledStatus {
    const last = lastUse(this.#decisions[subject.type].get(subject.storageKey));
    return recallStatus(last, subject, this.#nowMs() - this.#clockOffsetMs);
  }
}

/** By the limits of then, which may have changed since. A limit that was lowered shows no more than itself. */
function lastUse(known: RememberedDecision | undefined): LastUse<RateLimitDecision> | undefined {
  if (known === undefined) return undefined;
  const { decision, seen } = known;
  const { minute, day } = seen.use;
  const usedOf = (window: WindowStatus | undefined): number => (window ? window.limit - window.remaining : 0);
  return {
    decision,
    use: { minute: Math.max(minute, usedOf(decision.minute)), day: Math.max(day, usedOf(decision.day)) },
  };
}

/** A decision of a Redis that has forgotten some of the use, as it would have been without that. */
function correct(decision: RateLimitDecision, { seen, decision: last }: RememberedDecision): RateLimitDecision {
  const { use } = seen;
  const windowOf = (window: WindowStatus, used: number): WindowStatus => ({
    ...window,
    remaining: Math.min(window.remaining, Math.max(0, window.limit - used)),
  });
  const minute = windowOf(decision.minute, use.minute);
  const day = decision.day && windowOf(decision.day, use.day);
  const ban = banIn(last);
  if (decision.outcome === 'api_key_banned' || ban === undefined || ban.untilMs <= decision.atMs) {
    return { ...decision, minute, day };
  }
  const used = { minute: use.minute, day: day && use.day };
  const banned = bannedDecisionOf({ outcome: 'snapshot', atMs: decision.atMs, minute, day, used, strikes: 0, ban });
  return banned ?? { ...decision, minute, day };
}

const banIn = (decision: RateLimitDecision): Ban | undefined =>
  decision.outcome === 'api_key_banned' ? { untilMs: decision.bannedUntilMs, level: decision.level } : undefined;

const bannedUntilMs = (decision: RateLimitDecision | undefined): number | undefined =>
  decision?.outcome === 'api_key_banned' ? decision.bannedUntilMs : undefined;

/** Use of one window that must be in it until `resetAtMs`, because nothing leaves before. */
class SeenWindow {
  used = 0;
  resetAtMs = 0;

  /** @returns whether less is shown than was seen before */
  observe({ limit, remaining, resetAtMs }: WindowStatus, atMs: number, admittedCost: number): boolean {
    const shown = limit - remaining;
    if (atMs >= this.resetAtMs || shown - admittedCost >= this.used) {
      this.used = shown;
      this.resetAtMs = resetAtMs;
      return false;
    }
    // A limit that was lowered and is used up shows no more than itself.
    if (remaining === 0 && admittedCost === 0) return false;
    this.used += admittedCost;
    return true;
  }

  add({ lengthMs }: WindowSpec, units: number, atMs: number): void {
    if (atMs >= this.resetAtMs) {
      this.used = 0;
      this.resetAtMs = atMs + lengthMs;
    }
    this.used += units;
  }

  usedAt(atMs: number): number {
    return atMs < this.resetAtMs ? this.used : 0;
  }
}

/**
 * What a subject has certainly used, by the replies of Redis on it: so a reply that shows less proves that Redis has
 * forgotten some. The replies are observed in the order in which Redis decided, which is that of a connection.
 *
 * @internal exported for its tests
 */
export class SeenUse {
  readonly #minute = new SeenWindow();
  readonly #day = new SeenWindow();
  /** The latest time of a reply. */
  #atMs = 0;

  /**
   * @param admittedCost what this request itself has added
   * @returns whether Redis has forgotten some of the use
   */
  observe({ atMs, minute, day }: RateLimitStatus, admittedCost: number): boolean {
    if (this.#atMs - atMs > STEP_BACK_MAX_MS) this.#forget();
    // Past its reset it is not known what has left the day: but not what was in the minute.
    const dayHoldsUntilMs = this.#atMs + MINUTE_IN_DAY_MS;
    if (atMs >= this.#day.resetAtMs && atMs < dayHoldsUntilMs) {
      this.#day.used = this.#minute.used;
      this.#day.resetAtMs = dayHoldsUntilMs;
    }
    if (atMs > this.#atMs) this.#atMs = atMs;
    const isMinuteLess = this.#minute.observe(minute, atMs, admittedCost);
    const isDayLess = day !== undefined && this.#day.observe(day, atMs, admittedCost);
    return isMinuteLess || isDayLess;
  }

  /** Adds what was debited. */
  add(use: RateLimitUse, atMs: number): void {
    this.#minute.add(MINUTE_WINDOW, use.minute, atMs);
    this.#day.add(DAY_WINDOW, use.day, atMs);
  }

  /** At least so much is in the windows at the time of the last reply. */
  get use(): RateLimitUse {
    const minute = this.#minute.usedAt(this.#atMs);
    return { minute, day: Math.max(minute, this.#day.usedAt(this.#atMs)) };
  }

  /** After a long step of the clock, which drops the minute and moves the day. */
  #forget(): void {
    this.#atMs = 0;
    this.#minute.resetAtMs = 0;
    this.#day.resetAtMs = 0;
  }
}
