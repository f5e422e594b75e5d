import { NO_PENALTY } from '../algorithm/penalty.ts';
import { banState, debitState, type SubjectState, snapshotOf } from '../algorithm/subject-state.ts';
import { DAY_WINDOW, EMPTY_LOG, MINUTE_WINDOW, type WindowLog, type WindowSpec } from '../algorithm/window-log.ts';
import type {
  Ban,
  LimiterObserver,
  RateLimitDecision,
  RateLimitRecall,
  RateLimitSnapshot,
  RateLimitUse,
} from '../port.ts';
import type { RateLimitSubject } from '../subject.ts';
import type { DecisionMemory } from './decision-memory.ts';
import { InProcessLimiter, type RestoreState } from './in-process-limiter.ts';
import type { LastUse } from './recalled-status.ts';
import { createSubjectCache } from './subject-cache.ts';

export interface LocalFallbackOptions {
  /** How many instances share the limits, 1 or more. */
  readonly instances: number;
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** The decisions of Redis, from which counting goes on. */
  readonly memory: DecisionMemory;
  readonly observer?: LimiterObserver | undefined;
}

/** What was admitted while Redis was away, and has to be debited there, and the ban that was decided on. */
interface UnsyncedUsage {
  readonly subject: RateLimitSubject;
  /** Its logs hold the usage, as if it were all that the subject has sent. */
  state: SubjectState | undefined;
}

/** What Redis has to be sent on one subject. */
export interface DrainedUsage {
  readonly use: RateLimitUse;
  /** In force, by the clock of this process. */
  readonly ban: Ban | undefined;
}

/**
 * Counts in the process while Redis is away: at this instance's share of each limit, from the last decision of Redis on.
 * Keeps what it admitted, to be debited when Redis is back.
 */
export class LocalFallback {
  /** Whether any usage is to be debited in Redis. */
  hasUnsyncedUsage = false;
  readonly #limiter: InProcessLimiter;
  readonly #unsynced = createSubjectCache<UnsyncedUsage>();
  readonly #options: LocalFallbackOptions;

  constructor(options: LocalFallbackOptions) {
    this.#options = options;
    const { nowMs, observer } = options;
    const restore: RestoreState = (kept, subject, share, atMs) => this.#restore(kept, subject, share, atMs);
    this.#limiter = new InProcessLimiter({
      nowMs,
      restore,
      shareOf: (subject, cost) => this.#shareOf(subject, cost),
      observer,
    });
  }

  check(subject: RateLimitSubject, cost: number): RateLimitDecision {
    const decision = this.decide(subject, cost);
    if (decision.outcome === 'admitted') this.record(subject, { minute: cost, day: cost });
    return decision;
  }

  /** Checks a request of which it is not known yet whether it has to be debited. */
  decide(subject: RateLimitSubject, cost: number): RateLimitDecision {
    const decision = this.#limiter.check(subject, cost);
    if (decision.outcome === 'api_key_banned' && decision.isNew) {
      this.recordBan(subject, { untilMs: decision.bannedUntilMs, level: decision.level });
    }
    return decision;
  }

  peek(subject: RateLimitSubject): Promise<RateLimitSnapshot> {
    return this.#limiter.peek(subject);
  }

  recall(subject: RateLimitSubject): RateLimitRecall {
    return this.#limiter.recall(subject);
  }

  /** Keeps usage that has to be debited, of that time or of now. */
  record(subject: RateLimitSubject, use: RateLimitUse, atMs?: number): void {
    this.#change(subject, (state, nowMs) => {
      const hasLeftMinute = atMs !== undefined && nowMs - atMs >= MINUTE_WINDOW.lengthMs;
      return debitState(state, subject, hasLeftMinute ? { ...use, minute: 0 } : use, nowMs);
    });
  }

  /** Keeps a ban that has to be set. */
  recordBan(subject: RateLimitSubject, ban: Ban): void {
    this.#change(subject, (state, nowMs) => banState(state, ban, nowMs));
  }

  /** Removes the unsynced usage of a subject and returns it; `undefined` where there is none. */
  drain(subject: RateLimitSubject): DrainedUsage | undefined {
    const unsynced = this.#usageOf(subject);
    if (unsynced === undefined) return undefined;
    this.#unsynced[subject.type].delete(subject.storageKey);
    this.hasUnsyncedUsage = this.#unsynced['api-key'].size + this.#unsynced['client-address'].size > 0;
    const nowMs = this.#options.nowMs();
    const { used, ban } = snapshotOf(unsynced.state, subject, nowMs);
    const use = { minute: used.minute, day: used.day ?? 0 };
    return use.minute + use.day === 0 && ban === undefined ? undefined : { use, ban };
  }

  /** The subjects that have unsynced usage. */
  pendingSubjects(): RateLimitSubject[] {
    const { 'api-key': keys, 'client-address': addresses } = this.#unsynced;
    return [...keys.values(), ...addresses.values()].map(({ subject }) => subject);
  }

  #change(subject: RateLimitSubject, change: (state: SubjectState | undefined, nowMs: number) => SubjectState): void {
    const unsynced = this.#usageOf(subject) ?? { subject, state: undefined };
    unsynced.state = change(unsynced.state, this.#options.nowMs());
    this.#unsynced[subject.type].set(subject.storageKey, unsynced);
    this.hasUnsyncedUsage = true;
  }

  #usageOf({ type, storageKey }: RateLimitSubject): UnsyncedUsage | undefined {
    return this.#unsynced[type].get(storageKey);
  }

  #shareOf(subject: RateLimitSubject, cost: number): RateLimitSubject {
    const { instances } = this.#options;
    if (instances === 1) return subject;
    // A batch that fits the whole limit is not refused for ever.
    const share = (limit: number): number => Math.max(cost, Math.floor(limit / instances));
    return subject.type === 'api-key'
      ? { ...subject, perMinute: share(subject.perMinute), perDay: share(subject.perDay) }
      : { ...subject, perMinute: share(subject.perMinute) };
  }

  /** The state that is kept here; where Redis decided later than that, its decision with what is not synced yet. */
  #restore(
    kept: SubjectState | undefined,
    subject: RateLimitSubject,
    share: RateLimitSubject,
    nowMs: number,
  ): SubjectState | undefined {
    const last = this.#options.memory.lastDecision(subject);
    if (kept !== undefined && (last === undefined || last.decision.atMs <= kept.atMs)) return kept;
    const state = last && this.#stateAfter(last, subject, share);
    const unsynced = this.#usageOf(subject);
    if (unsynced === undefined) return state;
    const { used } = snapshotOf(unsynced.state, subject, nowMs);
    return debitState(state, subject, { minute: used.minute, day: used.day ?? 0 }, nowMs);
  }

  #stateAfter(
    { decision, use }: LastUse<RateLimitDecision>,
    { perMinute, perDay }: RateLimitSubject,
    share: RateLimitSubject,
  ): SubjectState {
    const { atMs } = decision;
    return {
      atMs,
      minute: this.#logAfter(MINUTE_WINDOW, perMinute - use.minute, share.perMinute, atMs),
      day:
        perDay === undefined || share.perDay === undefined
          ? EMPTY_LOG
          : this.#logAfter(DAY_WINDOW, perDay - use.day, share.perDay, atMs),
      penalty:
        decision.outcome === 'api_key_banned'
          ? { ...NO_PENALTY, banUntilMs: decision.bannedUntilMs, banLevel: decision.level }
          : NO_PENALTY,
    };
  }

  /** As many hits as leave this instance's share of what remains of the whole limit, all at the time of the decision. */
  #logAfter({ quantumMs }: WindowSpec, remaining: number, shareLimit: number, atMs: number): WindowLog {
    const used = shareLimit - Math.min(shareLimit, Math.max(0, Math.floor(remaining / this.#options.instances)));
    if (used === 0) return EMPTY_LOG;
    // The entry takes no more hits, which would keep it in the window.
    return { closed: [], openBeginMs: atMs - quantumMs, openLastMs: atMs, openCount: used, total: used };
  }
}
