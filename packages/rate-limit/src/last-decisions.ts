import { DAY, MINUTE, type Use } from './algorithm.ts';
import { refusedDecisionOf } from './decision.ts';
import {
  type LastKnownStatus,
  type RateLimitDecision,
  type RateLimitRefusal,
  type WindowName,
  type WindowStatus,
  wholeSecondsUntil,
} from './rate-limiter.ts';
import type { Subject } from './subject.ts';
import { SubjectCache } from './subject-cache.ts';

/** How long a process relies on a ban that it remembers: a lifted ban ends everywhere within this time. */
const BAN_TRUSTED_MS = 5_000;
/** After this time no unit of a decision is in the window any more. */
const HOLD_MS: Readonly<Record<WindowName, number>> = { minute: MINUTE.hold, day: DAY.hold };

interface LastDecision {
  readonly decision: RateLimitDecision;
  readonly used: Use;
  readonly learnedAtMs: number;
  /** Whether Redis has lost it. Redis is then not asked until the release: it would count requests that are refused here. */
  readonly isForgotten?: boolean;
}

/** The last decision of Redis on each subject. */
export class LastDecisions {
  readonly #last = new SubjectCache<LastDecision>();
  readonly #nowMs: () => number;

  /** @param nowMs the clock of this process */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /**
   * Remembers a decision and returns it. A limit that was used up stays so until its release, unless the limit has changed:
   * if Redis says that something remains, Redis has lost its data, and the request is refused.
   */
  remember(subject: Subject, decision: RateLimitDecision, used: Use): RateLimitDecision {
    const usedUp = decision.outcome === 'banned' ? undefined : this.#usedUpWindow(subject, decision.atMs);
    const before = this.#last.get(subject);
    const isLost = usedUp !== undefined && (decision.outcome === 'admitted' || (decision[usedUp]?.remaining ?? 0) > 0);
    if (usedUp !== undefined && before !== undefined && (isLost || before.isForgotten)) {
      const { minute, day } = before.decision;
      const refusal = refusedDecisionOf({ atMs: decision.atMs, minute, day }, usedUp);
      const last = { decision: refusal, used: before.used, learnedAtMs: this.#nowMs(), isForgotten: true };
      this.#last.set(subject, last);
      return refusal;
    }
    this.#last.set(subject, { decision, used, learnedAtMs: this.#nowMs() });
    return decision;
  }

  /**
   * The refusal that any request of the subject meets now: because an unknown caller has used up its limit, Redis has lost
   * the data of a used-up limit, or a ban is in force (for 5 s, or until it ends while Redis is away). Other requests have
   * to be counted.
   */
  refusalOf(subject: Subject, isAway: boolean): RateLimitRefusal | undefined {
    const last = this.#last.get(subject);
    if (last === undefined || last.decision.outcome === 'admitted') return undefined;
    const { decision, learnedAtMs } = last;
    if (decision.outcome === 'refused') {
      const isUsedUp = last.isForgotten || (subject.perDay === undefined && decision.minute.remaining === 0);
      const isOfTheseLimits = decision.minute.limit === subject.perMinute && decision.day?.limit === subject.perDay;
      if (!isUsedUp || !isOfTheseLimits) return undefined;
    }
    const elapsedMs = this.#nowMs() - learnedAtMs;
    const isOld = decision.outcome === 'banned' && elapsedMs >= BAN_TRUSTED_MS && !isAway;
    const atMs = decision.atMs + elapsedMs;
    return isOld || atMs >= decision.releaseAtMs ? undefined : bringTo(decision, atMs);
  }

  /** Forgets a ban that has ended, but not the used units. */
  forgetBan(subject: Subject): void {
    const last = this.#last.get(subject);
    if (last?.decision.outcome !== 'banned') return;
    const { atMs, minute, day } = last.decision;
    this.#last.set(subject, { ...last, decision: { outcome: 'admitted', atMs, minute, day } });
  }

  /** The last status. Nothing is added to what remained until all used units must have left the window. */
  statusOf(subject: Subject): LastKnownStatus {
    const { decision, used, learnedAtMs } = this.#last.get(subject) ?? {};
    const nowMs = this.#nowMs();
    const elapsedMs = nowMs - (learnedAtMs ?? 0);
    const atMs = decision === undefined ? nowMs : decision.atMs + elapsedMs;
    const windowOf = (name: WindowName, limit: number): WindowStatus => {
      const known = decision?.[name];
      if (known === undefined || elapsedMs >= HOLD_MS[name]) return { limit, remaining: limit, resetAtMs: atMs };
      // Based on the used units, not on the remaining ones: the plan may have changed since.
      const remaining = Math.max(0, limit - (used?.[name] ?? 0));
      return { limit, remaining, resetAtMs: Math.max(atMs, known.resetAtMs) };
    };
    return {
      outcome: 'last known',
      atMs,
      minute: windowOf('minute', subject.perMinute),
      day: subject.perDay === undefined ? undefined : windowOf('day', subject.perDay),
    };
  }

  /** The window that was used up under the same limits and is not released yet; of two, the one that releases last. */
  #usedUpWindow(subject: Subject, nowMs: number): WindowName | undefined {
    const { minute, day } = this.#last.get(subject)?.decision ?? {};
    if (minute?.limit !== subject.perMinute || day?.limit !== subject.perDay) return undefined;
    const isUsedUp = (name: WindowName, { remaining, resetAtMs }: WindowStatus) =>
      // A release further away came from a clock that has been set back.
      remaining === 0 && resetAtMs > nowMs && resetAtMs <= nowMs + HOLD_MS[name];
    if (day !== undefined && isUsedUp('day', day) && day.resetAtMs >= minute.resetAtMs) return 'day';
    if (isUsedUp('minute', minute)) return 'minute';
    return day !== undefined && isUsedUp('day', day) ? 'day' : undefined;
  }
}

/** A refusal at a later time. */
function bringTo<Refusal extends RateLimitRefusal>(refusal: Refusal, atMs: number): Refusal {
  const isNew = refusal.outcome === 'banned' ? { isNew: false } : {};
  return { ...refusal, ...isNew, atMs, retryAfterSeconds: wholeSecondsUntil(refusal.retryAtMs, atMs) };
}
