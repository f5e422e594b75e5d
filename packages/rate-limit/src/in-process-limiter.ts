import {
  assertCost,
  type BannedDecision,
  bannedDecisionOf,
  type ExceededDecision,
  type RateLimitDecision,
  type RateLimiter,
  type RateLimitSnapshot,
  type RateLimitUse,
  type RecalledStatus,
} from './rate-limiter.ts';
import type { RateLimitSubject } from './subject.ts';
import { SubjectMap } from './subject-map.ts';
import { checkState, debitState, peekState, type SubjectState } from './subject-state.ts';

export interface InProcessLimiterOptions {
  /** Milliseconds since the epoch; `Date.now` in production. */
  readonly nowMs: () => number;
  /** What to go by, given what is remembered; for who knows better from elsewhere. @default what is remembered */
  readonly recall?: Recall;
}

export type Recall = (
  remembered: SubjectState | undefined,
  subject: RateLimitSubject,
  nowMs: number,
) => SubjectState | undefined;

/**
 * Counts in the memory of the process: for a single instance without Redis, and while Redis is away. Decides exactly as
 * Redis does. Remembers at most 50,000 subjects; one that is pushed out starts afresh.
 */
export class InProcessLimiter implements RateLimiter {
  readonly #states = new SubjectMap<SubjectState>();
  readonly #nowMs: () => number;
  readonly #recall: Recall;

  constructor({ nowMs, recall = (remembered) => remembered }: InProcessLimiterOptions) {
    this.#nowMs = nowMs;
    this.#recall = recall;
  }

  /** How many subjects are remembered. */
  get size(): number {
    return this.#states.size;
  }

  check(subject: RateLimitSubject, cost: number): RateLimitDecision {
    assertCost(subject, cost);
    const nowMs = this.#nowMs();
    const step = checkState(this.#stateOf(subject, nowMs), subject, cost, nowMs);
    this.#states.set(subject, step.state);
    return step.answer;
  }

  async peek(subject: RateLimitSubject): Promise<RateLimitSnapshot> {
    const nowMs = this.#nowMs();
    return peekState(this.#stateOf(subject, nowMs), subject, nowMs);
  }

  recall(subject: RateLimitSubject): BannedDecision | ExceededDecision | RecalledStatus {
    const nowMs = this.#nowMs();
    const state = this.#stateOf(subject, nowMs);
    const peeked = peekState(state, subject, nowMs);
    const ban = bannedDecisionOf(peeked);
    if (ban !== undefined) return ban;
    if (subject.type === 'client-address' && peeked.minute.remaining === 0) {
      const { answer } = checkState(state, subject, 1, nowMs); // nothing is kept of it
      if (answer.outcome === 'rate_limit_exceeded') return answer;
    }
    const { atMs, minute, day } = peeked;
    return { outcome: 'recalled', atMs, minute, day };
  }

  async debit(subject: RateLimitSubject, use: RateLimitUse): Promise<void> {
    const nowMs = this.#nowMs();
    const state = debitState(this.#stateOf(subject, nowMs), subject, use, nowMs);
    this.#states.set(subject, state);
  }

  #stateOf(subject: RateLimitSubject, nowMs: number): SubjectState | undefined {
    return this.#recall(this.#states.get(subject), subject, nowMs);
  }
}
