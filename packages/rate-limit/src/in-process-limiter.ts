import { advance, decide, newState, read, type State, statusAt } from './algorithm.ts';
import { createRefusedDecision, lastKnownOf, reportCheck } from './decision.ts';
import type {
  LastKnownStatus,
  LimiterObserver,
  RateLimitDecision,
  RateLimiter,
  RateLimitRefusal,
  RateLimitSnapshot,
} from './rate-limiter.ts';
import { assertCost, canEverFit, refusalsMaxOf, type Subject, shareOf } from './subject.ts';
import { SubjectCache } from './subject-cache.ts';

/** When a batch that exceeds the share should come back: Redis, which knows the whole limit, may be there again. */
const BATCH_RETRY_MS = 1_000;

export interface InProcessLimiterOptions {
  /** Milliseconds since the epoch; `Date.now` in production. */
  readonly nowMs: () => number;
  /** How many instances share the limits, 1 or more. Each admits an equal share, at least 1. @default 1 */
  readonly instances?: number | undefined;
  readonly observer?: Pick<LimiterObserver, 'onBan' | 'onDecision'> | undefined;
}

/** Counts in the memory of the process, exactly as Redis does. Keeps at most 50,000 subjects; evicted ones start afresh. */
export class InProcessLimiter implements RateLimiter {
  readonly #states = new SubjectCache<State>();
  readonly #options: InProcessLimiterOptions;

  constructor(options: InProcessLimiterOptions) {
    this.#options = options;
  }

  check(subject: Subject, cost: number): RateLimitDecision {
    assertCost(subject, cost);
    const now = this.#options.nowMs();
    const state = this.#stateAt(subject, now);
    const share = this.#shareOf(subject);
    const isBeyondShare = !canEverFit(share, cost) && state.bannedUntil <= now;
    // Bans depend on the whole limit: a pool of callers that obey may be as large.
    const decision = isBeyondShare
      ? refuseBatch(state, share, cost, now)
      : decide(state, share, { cost, refusalsMax: refusalsMaxOf(subject) }, now);
    reportCheck(this.#options.observer, 'process', subject, decision);
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
    const now = this.#options.nowMs();
    return this.#states.values().filter(({ bannedUntil }) => bannedUntil > now).length;
  }

  #read(subject: Subject): RateLimitSnapshot {
    const now = this.#options.nowMs();
    return read(this.#stateAt(subject, now), this.#shareOf(subject), now);
  }

  #shareOf(subject: Subject): Subject {
    const { instances = 1 } = this.#options;
    return instances === 1 ? subject : shareOf(subject, instances);
  }

  #stateAt(subject: Subject, now: number): State {
    const state = this.#states.get(subject) ?? newState();
    advance(state, now);
    this.#states.set(subject, state);
    return state;
  }
}

/** Refuses what fits the limit, but not the share. The caller has kept to its limit, so no refusal is counted. */
function refuseBatch(state: State, share: Subject, cost: number, now: number): RateLimitDecision {
  const window = cost > share.perMinute ? 'minute' : 'day';
  const retryAtMs = now + BATCH_RETRY_MS;
  return createRefusedDecision(statusAt(state, share, now), { window, releaseAtMs: retryAtMs, retryAtMs });
}
