import { isBanned } from '../algorithm/penalty.ts';
import { checkState, debitState, type SubjectState, snapshotOf } from '../algorithm/subject-state.ts';
import { bannedDecisionOf } from '../headers.ts';
import {
  banOf,
  type LimiterObserver,
  type RateLimitDecision,
  type RateLimiter,
  type RateLimitRecall,
  type RateLimitSnapshot,
  type RateLimitUse,
} from '../port.ts';
import { assertCost, type RateLimitSubject } from '../subject.ts';
import { createSubjectCache } from './subject-cache.ts';

export interface InProcessLimiterOptions {
  /** Milliseconds since the epoch; `Date.now` in production. */
  readonly nowMs: () => number;
  /** Replaces the state that is kept of a subject where a better one is known. @default the state that is kept */
  readonly restore?: RestoreState;
  /** The part of a subject's limits that is counted here. @default all */
  readonly shareOf?: (subject: RateLimitSubject, cost: number) => RateLimitSubject;
  readonly observer?: LimiterObserver | undefined;
}

export type RestoreState = (
  kept: SubjectState | undefined,
  subject: RateLimitSubject,
  share: RateLimitSubject,
  nowMs: number,
) => SubjectState | undefined;

/**
 * Counts in the memory of the process: for a single instance without Redis, and while Redis is away. Decides exactly as
 * Redis does. Keeps at most 50,000 subjects; an evicted one starts afresh.
 */
export class InProcessLimiter implements RateLimiter {
  readonly #states = createSubjectCache<SubjectState>();
  readonly #nowMs: () => number;
  readonly #restore: RestoreState;
  readonly #shareOf: NonNullable<InProcessLimiterOptions['shareOf']>;
  readonly #observer: LimiterObserver | undefined;

  constructor({ nowMs, restore = (kept) => kept, shareOf = (subject) => subject, observer }: InProcessLimiterOptions) {
    this.#nowMs = nowMs;
    this.#restore = restore;
    this.#shareOf = shareOf;
    this.#observer = observer;
  }

  check(subject: RateLimitSubject, cost: number): RateLimitDecision {
    assertCost(subject, cost);
    const nowMs = this.#nowMs();
    const share = this.#shareOf(subject, cost);
    const { state, decision } = checkState(this.#stateOf(subject, share, nowMs), share, cost, nowMs);
    this.#states[subject.type].set(subject.storageKey, state);
    this.#observer?.onDecision('process');
    if (decision.outcome === 'api_key_banned' && decision.isNew) {
      this.#observer?.onBan(banOf(subject, decision));
    }
    return decision;
  }

  /** The number of keys that are banned. Goes through all of them. */
  countBans(): number {
    const nowMs = this.#nowMs();
    let count = 0;
    for (const { penalty } of this.#states['api-key'].values()) if (isBanned(penalty, nowMs)) count++;
    return count;
  }

  async peek(subject: RateLimitSubject): Promise<RateLimitSnapshot> {
    const nowMs = this.#nowMs();
    const share = this.#shareOf(subject, 1);
    return snapshotOf(this.#stateOf(subject, share, nowMs), share, nowMs);
  }

  recall(subject: RateLimitSubject): RateLimitRecall {
    const nowMs = this.#nowMs();
    const share = this.#shareOf(subject, 1);
    const state = this.#stateOf(subject, share, nowMs);
    const snapshot = snapshotOf(state, share, nowMs);
    const ban = bannedDecisionOf(snapshot);
    if (ban !== undefined) return ban;
    if (subject.type === 'client-address' && snapshot.minute.remaining === 0) {
      const { decision } = checkState(state, share, 1, nowMs); // the new state is dropped
      if (decision.outcome === 'rate_limit_exceeded') return decision;
    }
    const { atMs, minute, day } = snapshot;
    return { outcome: 'recalled', atMs, minute, day };
  }

  async debit(subject: RateLimitSubject, use: RateLimitUse): Promise<void> {
    const nowMs = this.#nowMs();
    const state = debitState(this.#stateOf(subject, this.#shareOf(subject, 1), nowMs), subject, use, nowMs);
    this.#states[subject.type].set(subject.storageKey, state);
  }

  #stateOf(subject: RateLimitSubject, share: RateLimitSubject, nowMs: number): SubjectState | undefined {
    return this.#restore(this.#states[subject.type].get(subject.storageKey), subject, share, nowMs);
  }
}
