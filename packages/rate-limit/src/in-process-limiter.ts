import { advance, debit, decide, newState, type State, type Use } from './algorithm.ts';
import { banOf, decisionOf, refusalInForce, resultOf, snapshotOf } from './decision.ts';
import type {
  LastKnownStatus,
  LimiterObserver,
  RateLimitDecision,
  RateLimiter,
  RateLimitRefusal,
  RateLimitSnapshot,
} from './rate-limiter.ts';
import { assertCost, type Subject } from './subject.ts';
import { SubjectCache } from './subject-cache.ts';

export interface InProcessLimiterOptions {
  /** Milliseconds since the epoch; `Date.now` in production. */
  readonly nowMs: () => number;
  readonly observer?: Pick<LimiterObserver, 'onBan' | 'onDecision'> | undefined;
}

/** Counts in the memory of the process, exactly as Redis does. Keeps at most 50,000 subjects; evicted ones start afresh. */
export class InProcessLimiter implements RateLimiter {
  readonly #states = new SubjectCache<State>();
  readonly #nowMs: () => number;
  readonly #observer: InProcessLimiterOptions['observer'];

  constructor({ nowMs, observer }: InProcessLimiterOptions) {
    this.#nowMs = nowMs;
    this.#observer = observer;
  }

  check(subject: Subject, cost: number): RateLimitDecision {
    assertCost(subject, cost);
    const now = this.#nowMs();
    const state = this.#stateAt(subject, now);
    const verdict = decide(state, subject, cost, now);
    const decision = decisionOf(resultOf(state, subject, now, verdict), subject);
    this.#observer?.onDecision('process');
    if (decision.outcome === 'banned' && decision.isNew) this.#observer?.onBan(banOf(subject, decision));
    return decision;
  }

  async peek(subject: Subject): Promise<RateLimitSnapshot> {
    return this.#read(subject);
  }

  lastKnown(subject: Subject): RateLimitRefusal | LastKnownStatus {
    const snapshot = this.#read(subject);
    const { atMs, minute, day } = snapshot;
    return refusalInForce(snapshot) ?? { outcome: 'last known', atMs, minute, day };
  }

  /**
   * Counts units, whether they fit or not.
   *
   * @param agoMs how long ago they were used
   */
  debit(subject: Subject, use: Use, agoMs = 0): void {
    const now = this.#nowMs();
    debit(this.#stateAt(subject, now), subject, use, now - agoMs);
  }

  forget(subject: Subject): void {
    this.#states.delete(subject);
  }

  /** The number of banned subjects. Checks all subjects. */
  countBans(): number {
    const now = this.#nowMs();
    return this.#states.values().filter(({ bannedUntil }) => bannedUntil > now).length;
  }

  #read(subject: Subject): RateLimitSnapshot {
    const now = this.#nowMs();
    return snapshotOf(resultOf(this.#stateAt(subject, now), subject, now), subject);
  }

  #stateAt(subject: Subject, now: number): State {
    const state = this.#states.get(subject) ?? newState();
    advance(state, now);
    this.#states.set(subject, state);
    return state;
  }
}
