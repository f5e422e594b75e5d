import { DAY_WINDOW, MINUTE_WINDOW, type WindowSpec } from '../algorithm/window-log.ts';
import {
  type RateLimitDecision,
  type RateLimitRefusal,
  type RecalledStatus,
  type WindowStatus,
  wholeSecondsUntil,
} from '../port.ts';
import type { RateLimitSubject } from '../subject.ts';
import { createSubjectCache } from './subject-cache.ts';

/** How long a process relies on a ban that it remembers: a lifted ban ends everywhere within this time. */
const BAN_MEMORY_MS = 5_000;

interface RememberedDecision {
  decision: RateLimitDecision;
  /** By the monotonic clock. Set for refusals only. */
  learnedAtMs: number;
}

/**
 * The last decision of Redis on each subject. Two kinds of refusals hold for every further request and are repeated
 * without Redis: the ban of a key, for up to 5 s, and the used-up limit of an address, until its next unit is freed.
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

  /** @returns whether it is a ban that was not known */
  remember(subject: RateLimitSubject, decision: RateLimitDecision, clockOffsetMs: number): boolean {
    this.#clockOffsetMs = clockOffsetMs;
    const learnedAtMs = decision.outcome === 'admitted' ? 0 : this.#monotonicMs();
    const cache = this.#decisions[subject.type];
    const known = cache.get(subject.storageKey);
    const isNewBan = decision.outcome === 'api_key_banned' && bannedUntilMs(known?.decision) !== decision.bannedUntilMs;
    if (known === undefined) cache.set(subject.storageKey, { decision, learnedAtMs });
    else {
      known.decision = decision;
      known.learnedAtMs = learnedAtMs;
    }
    return isNewBan;
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

const bannedUntilMs = (decision: RateLimitDecision | undefined): number | undefined =>
  decision?.outcome === 'api_key_banned' ? decision.bannedUntilMs : undefined;
