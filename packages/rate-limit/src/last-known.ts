import { DAY, MINUTE } from './algorithm.ts';
import { bringToPresent, refusedUntilReset, statusIn, statusOf, type WindowUse } from './decision.ts';
import type { RateLimitDecision, RateLimitRefusal, RateLimitStatus, WindowName, WindowStatus } from './rate-limiter.ts';
import type { Subject } from './subject.ts';

/** How long a process relies on a ban that it remembers: a lifted ban ends everywhere within this time. */
const BAN_TRUSTED_MS = 5_000;
/** After this time no unit of a decision is in the window any more. */
const HOLD_MS: Readonly<Record<WindowName, number>> = { minute: MINUTE.hold, day: DAY.hold };

/**
 * What Redis last said of one subject, brought to the present by the clock of this process. Each method takes the time of
 * that clock, in milliseconds.
 */
export class LastKnown {
  #decision: RateLimitDecision | undefined;
  #learnedAtMs = 0;
  /**
   * Whether Redis has lost the units of a used-up limit, so that the decision is one of this process. Redis is then not
   * asked until the release: it would count requests that are refused here.
   */
  #hasRedisLostIt = false;

  /**
   * Remembers a decision and returns it. A limit that was used up stays so until its release, unless the limit has changed:
   * if Redis says that something remains, Redis has lost its data, and the request is refused.
   */
  remember(subject: Subject, decision: RateLimitDecision, nowMs: number): RateLimitDecision {
    const lostWindow = this.#findLostWindow(subject, decision);
    this.#hasRedisLostIt = lostWindow !== undefined;
    this.#decision = lostWindow === undefined ? decision : this.#refuseAgain(lostWindow, decision);
    this.#learnedAtMs = nowMs;
    return this.#decision;
  }

  /** The window that is used up as far as this process knows, but not in Redis. */
  #findLostWindow(subject: Subject, decision: RateLimitDecision): WindowName | undefined {
    if (decision.outcome === 'banned') return undefined;
    const usedUp = this.#usedUpWindow(subject, decision.atMs);
    if (usedUp === undefined) return undefined;
    const remainsThere = decision.outcome === 'admitted' || (decision[usedUp]?.remaining ?? 0) > 0;
    return remainsThere || this.#hasRedisLostIt ? usedUp : undefined;
  }

  /** The refusal by a used-up window of the last decision, at the time of a newer one. */
  #refuseAgain(window: WindowName, newer: RateLimitDecision): RateLimitDecision {
    return refusedUntilReset({ ...statusIn(this.#decision ?? newer), atMs: newer.atMs }, window);
  }

  /**
   * The refusal that any request of the subject meets now: because an unknown caller has used up its limit, Redis has lost
   * the data of a used-up limit, or a ban is in force (for 5 s, or until it ends while Redis is unavailable). Other requests
   * must be counted.
   */
  refusalInForce(subject: Subject, nowMs: number, isUnavailable: boolean): RateLimitRefusal | undefined {
    const decision = this.#decision;
    if (decision === undefined || decision.outcome === 'admitted') return undefined;
    if (decision.outcome === 'refused') {
      const isUsedUp = this.#hasRedisLostIt || (subject.perDay === undefined && decision.minute.remaining === 0);
      const isOfTheseLimits = decision.minute.limit === subject.perMinute && decision.day?.limit === subject.perDay;
      if (!isUsedUp || !isOfTheseLimits) return undefined;
    }
    const elapsedMs = nowMs - this.#learnedAtMs;
    const isOld = decision.outcome === 'banned' && elapsedMs >= BAN_TRUSTED_MS && !isUnavailable;
    const atMs = decision.atMs + elapsedMs;
    return isOld || atMs >= decision.releaseAtMs ? undefined : bringToPresent(decision, atMs);
  }

  /** Forgets a ban that has ended, but not the used units. */
  forgetBan(): void {
    if (this.#decision?.outcome === 'banned') this.#decision = { outcome: 'admitted', ...statusIn(this.#decision) };
  }

  /** The last status. Nothing is added to what remained until all used units must have left the window. */
  statusAt(subject: Subject, nowMs: number): RateLimitStatus {
    const decision = this.#decision;
    const elapsedMs = nowMs - this.#learnedAtMs;
    const atMs = decision === undefined ? nowMs : decision.atMs + elapsedMs;
    const useOf = (name: WindowName): WindowUse => {
      const known = decision?.[name];
      if (known === undefined || elapsedMs >= HOLD_MS[name]) return [0, atMs];
      return [known.used, Math.max(atMs, known.resetAtMs)];
    };
    return statusOf(subject, atMs, useOf('minute'), useOf('day'));
  }

  /** The window that was used up under the same limits and is not released yet; of two, the one that releases last. */
  #usedUpWindow(subject: Subject, nowMs: number): WindowName | undefined {
    const { minute, day } = this.#decision ?? {};
    if (minute?.limit !== subject.perMinute || day?.limit !== subject.perDay) return undefined;
    const isUsedUp = (name: WindowName, { remaining, resetAtMs }: WindowStatus) =>
      // A release further away came from a clock that has been set back.
      remaining === 0 && resetAtMs > nowMs && resetAtMs <= nowMs + HOLD_MS[name];
    if (day !== undefined && isUsedUp('day', day) && day.resetAtMs >= minute.resetAtMs) return 'day';
    if (isUsedUp('minute', minute)) return 'minute';
    return day !== undefined && isUsedUp('day', day) ? 'day' : undefined;
  }
}
