import { InProcessLimiter, type Recall } from './in-process-limiter.ts';
import { NO_PENALTY } from './penalty.ts';
import type { RateLimitDecision, RateLimitSnapshot, RateLimitUse, WindowStatus } from './rate-limiter.ts';
import type { RateLimitSubject } from './subject.ts';
import { SubjectMap } from './subject-map.ts';
import { debitState, type SubjectState } from './subject-state.ts';
import {
  addToLog,
  DAY_WINDOW,
  EMPTY_LOG,
  expireLog,
  MINUTE_WINDOW,
  type WindowLog,
  type WindowSpec,
} from './window-log.ts';

export interface StandInOptions {
  /** How many instances share the limits, 1 or more. */
  readonly instances: number;
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number;
  /** The last decision that Redis gave on a subject, in the time of `nowMs`. */
  readonly lastSeen: (subject: RateLimitSubject) => RateLimitDecision | undefined;
}

/** What was admitted while Redis was away, and has to be told to it. */
interface Debt {
  readonly subject: RateLimitSubject;
  minute: WindowLog;
  day: WindowLog;
  /** Units of it that Redis knows of after all. */
  forgiven: number;
}

/**
 * Stands in for Redis while that is away: counts in the process, at this instance's share of each limit, from where
 * Redis last saw the subject. Keeps what it admitted, to be debited when Redis is back.
 */
export class StandIn {
  readonly #limiter: InProcessLimiter;
  readonly #debts = new SubjectMap<Debt>();
  readonly #options: StandInOptions;

  constructor(options: StandInOptions) {
    this.#options = options;
    const recall: Recall = (remembered, subject, nowMs) => this.#recall(remembered, subject, nowMs);
    this.#limiter = new InProcessLimiter({ nowMs: options.nowMs, recall });
  }

  get hasDebts(): boolean {
    return this.#debts.size > 0;
  }

  check(subject: RateLimitSubject, cost: number): RateLimitDecision {
    const decision = this.#limiter.check(this.#shareOf(subject, cost), cost);
    if (decision.outcome === 'admitted') this.owe(subject, { minute: cost, day: cost });
    return decision;
  }

  peek(subject: RateLimitSubject): Promise<RateLimitSnapshot> {
    return this.#limiter.peek(this.#shareOf(subject, 1));
  }

  /** Keeps what has to be debited. */
  owe(subject: RateLimitSubject, use: RateLimitUse): void {
    const nowMs = this.#options.nowMs();
    const debt = this.#debts.get(subject) ?? { subject, minute: EMPTY_LOG, day: EMPTY_LOG, forgiven: 0 };
    debt.minute = addUse(debt.minute, MINUTE_WINDOW, nowMs, use.minute);
    debt.day = addUse(debt.day, DAY_WINDOW, nowMs, use.day);
    this.#debts.set(subject, debt);
  }

  /** Owes that much less for a subject, if anything is owed. */
  forgive(subject: RateLimitSubject, cost: number): void {
    const debt = this.#debts.get(subject);
    if (debt !== undefined) debt.forgiven += cost;
  }

  /** Takes off what is owed for a subject; `undefined` where there is nothing. */
  settle(subject: RateLimitSubject): RateLimitUse | undefined {
    const debt = this.#debts.get(subject);
    if (debt === undefined) return undefined;
    this.#debts.delete(subject);
    const use = usedAt(debt, this.#options.nowMs());
    return use.minute + use.day === 0 ? undefined : use;
  }

  /** Whom something is owed for. */
  *debtors(): Generator<RateLimitSubject> {
    for (const { subject } of this.#debts.values()) yield subject;
  }

  #shareOf(subject: RateLimitSubject, cost: number): RateLimitSubject {
    const { instances } = this.#options;
    if (instances === 1) return subject;
    // A batch that the whole limit has room for is not refused for ever.
    const share = (limit: number): number => Math.max(cost, Math.floor(limit / instances));
    return subject.type === 'api-key'
      ? { ...subject, perMinute: share(subject.perMinute), perDay: share(subject.perDay) }
      : { ...subject, perMinute: share(subject.perMinute) };
  }

  /** What is remembered here, unless Redis saw the subject since: then as it saw it, with what it does not know yet. */
  #recall(remembered: SubjectState | undefined, share: RateLimitSubject, nowMs: number): SubjectState | undefined {
    const seen = this.#options.lastSeen(share);
    if (remembered !== undefined && (seen === undefined || seen.atMs <= remembered.atMs)) return remembered;
    const state = seen && this.#stateSeen(seen, share);
    const debt = this.#debts.get(share);
    return debt === undefined ? state : debitState(state, share, usedAt(debt, nowMs), nowMs);
  }

  #stateSeen(seen: RateLimitDecision, share: RateLimitSubject): SubjectState {
    const { atMs, minute, day } = seen;
    return {
      atMs,
      minute: this.#logSeen(MINUTE_WINDOW, share.perMinute, minute, atMs),
      day:
        share.perDay === undefined || day === undefined
          ? EMPTY_LOG
          : this.#logSeen(DAY_WINDOW, share.perDay, day, atMs),
      penalty:
        seen.outcome === 'api_key_banned'
          ? { ...NO_PENALTY, spanStartMs: atMs, banUntilMs: seen.bannedUntilMs, banLevel: 1 }
          : NO_PENALTY,
    };
  }

  /** So many hits that this instance's share of what remained is left, as late as they were seen. */
  #logSeen({ quantumMs }: WindowSpec, limit: number, { remaining }: WindowStatus, atMs: number): WindowLog {
    const used = limit - Math.min(limit, Math.floor(remaining / this.#options.instances));
    if (used === 0) return EMPTY_LOG;
    // Takes no more hits, which would hold it in the window.
    return { closed: [], openBeginMs: atMs - quantumMs, openLastMs: atMs, openCount: used, total: used };
  }
}

const addUse = (log: WindowLog, spec: WindowSpec, nowMs: number, count: number): WindowLog =>
  count === 0 ? log : addToLog(expireLog(log, spec, nowMs), spec, Math.max(nowMs, log.openLastMs), count);

const usedAt = ({ minute, day, forgiven }: Debt, nowMs: number): RateLimitUse => ({
  minute: Math.max(0, expireLog(minute, MINUTE_WINDOW, nowMs).total - forgiven),
  day: Math.max(0, expireLog(day, DAY_WINDOW, nowMs).total - forgiven),
});
