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
import { SeenUse } from './seen-use.ts';
import { createSubjectCache } from './subject-cache.ts';

/** How long a process relies on a ban that it remembers: a lifted ban ends everywhere within this time. */
const BAN_MEMORY_MS = 5_000;

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
   * Takes notice of a status that is no decision.
   *
   * @returns whether Redis has forgotten some of what was seen
   */
  observe(subject: RateLimitSubject, status: RateLimitStatus): boolean {
    return this.#decisions[subject.type].peek(subject.storageKey)?.seen.observe(status, 0) === true;
  }

  /** What Redis must hold of a subject; `undefined` where it was not seen. */
  seenState(subject: RateLimitSubject): SeenState | undefined {
    const known = this.#decisions[subject.type].peek(subject.storageKey);
    return known && { use: known.seen.use, ban: banIn(known.decision) };
  }

  /**
   * Adds what was debited in Redis, or may have been: it is counted there after all once it turns out to be missing.
   *
   * @returns whether the subject is remembered
   */
  addDebit(subject: RateLimitSubject, use: RateLimitUse): boolean {
    const known = this.#decisions[subject.type].peek(subject.storageKey);
    known?.seen.add(use, this.#nowMs() - this.#clockOffsetMs);
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
  lastDecision(subject: RateLimitSubject): RateLimitDecision | undefined {
    const decision = this.#decisions[subject.type].get(subject.storageKey)?.decision;
    if (decision === undefined) return undefined;
    const atMs = decision.atMs + this.#clockOffsetMs;
    return decision.outcome === 'api_key_banned'
      ? { ...decision, atMs, bannedUntilMs: decision.bannedUntilMs + this.#clockOffsetMs }
      : { ...decision, atMs };
  }

  /**
   * The status by the last decision: no more remaining than it left, until all of it must have left the window. A
   * subject without one has sent nothing.
   */
  recall(subject: RateLimitSubject): RecalledStatus {
    const last = this.#decisions[subject.type].get(subject.storageKey)?.decision;
    const atMs = Math.max(this.#nowMs() - this.#clockOffsetMs, last?.atMs ?? 0);
    const ageMs = last === undefined ? Number.POSITIVE_INFINITY : atMs - last.atMs;
    const windowOf = (spec: WindowSpec, limit: number, window: WindowStatus | undefined): WindowStatus =>
      window === undefined || ageMs >= spec.lengthMs + spec.quantumMs
        ? { limit, remaining: limit, resetAtMs: atMs }
        : { limit, remaining: Math.min(limit, window.remaining), resetAtMs: Math.max(atMs, window.resetAtMs) };
    return {
      outcome: 'recalled',
      atMs,
      minute: windowOf(MINUTE_WINDOW, subject.perMinute, last?.minute),
      day: subject.perDay === undefined ? undefined : windowOf(DAY_WINDOW, subject.perDay, last?.day),
    };
  }
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
