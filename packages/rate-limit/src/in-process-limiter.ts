import { advance, decide, newState, read, type State } from './algorithm.ts';
import { lastKnownOf } from './decision.ts';
import {
  type LastKnownStatus,
  type LimiterObserver,
  type RateLimitDecision,
  type RateLimiter,
  type RateLimitRefusal,
  type RateLimitSnapshot,
  reportCheck,
} from './rate-limiter.ts';
import { assertCost, refusalsMaxOf, type Subject } from './subject.ts';
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
    const request = { cost, refusalsMax: refusalsMaxOf(subject) };
    const decision = decide(this.#stateAt(subject, now), subject, request, now);
    reportCheck(this.#observer, 'process', subject, decision);
    return decision;
  }

  async peek(subject: Subject): Promise<RateLimitSnapshot> {
    return this.#read(subject);
  }

  lastKnown(subject: Subject): RateLimitRefusal | LastKnownStatus {
    return lastKnownOf(this.#read(subject));
  }

  /** The number of banned subjects. Checks all subjects. */
  countBans(): number {
    const now = this.#nowMs();
    return this.#states.values().filter(({ bannedUntil }) => bannedUntil > now).length;
  }

  #read(subject: Subject): RateLimitSnapshot {
    const now = this.#nowMs();
    return read(this.#stateAt(subject, now), subject, now);
  }

  #stateAt(subject: Subject, now: number): State {
    const state = this.#states.get(subject) ?? newState();
    advance(state, now);
    this.#states.set(subject, state);
    return state;
  }
}
