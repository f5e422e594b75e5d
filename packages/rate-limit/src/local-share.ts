import {
  add,
  advance,
  DAY,
  decide,
  type Kind,
  type Log,
  MINUTE,
  newState,
  read,
  statusAt,
  type Use,
} from './algorithm.ts';
import { createRefusedDecision, refusalByBan } from './decision.ts';
import type { RateLimitDecision, RateLimitSnapshot, RateLimitStatus, WindowStatus } from './rate-limiter.ts';
import { canEverFit, refusalsMaxOf, type Subject } from './subject.ts';

/** When a batch that exceeds the share should come back: Redis, which knows the whole limit, may be there again. */
const BATCH_RETRY_MS = 1_000;

/**
 * Counts one subject while Redis is unavailable, against this instance's share of what Redis last left of each limit: the
 * limit divided by the number of instances, at least 1.
 */
export class LocalShare {
  /** The subject with its whole limits, as it was when counting began here. */
  readonly subject: Subject;
  readonly #instances: number;
  readonly #state = newState();
  /** Units that were admitted here and are not yet counted in Redis. */
  #admitted = 0;
  #isBeingSent = false;

  /** @param last the last known status of the subject, with whole limits */
  constructor(subject: Subject, instances: number, last: RateLimitStatus, nowMs: number) {
    this.subject = subject;
    this.#instances = instances;
    const { perMinute, perDay = 0 } = this.#shareOf(subject);
    // Frees one unit at the time that callers were told. The times of the others are unknown, so they count as of now.
    const takeOver = (log: Log, kind: Kind, { limit, remaining, resetAtMs }: WindowStatus, limitHere: number) => {
      const used = Math.ceil(((limit - remaining) * limitHere) / limit);
      add(log, kind, nowMs + (resetAtMs - last.atMs) - kind.hold, Math.min(used, 1));
      add(log, kind, nowMs, Math.max(used - 1, 0));
    };
    takeOver(this.#state.minute, MINUTE, last.minute, perMinute);
    if (last.day !== undefined) takeOver(this.#state.day, DAY, last.day, perDay);
  }

  /** @param subject with its present limits */
  check(subject: Subject, cost: number, nowMs: number): RateLimitDecision {
    const share = this.#shareOf(subject);
    advance(this.#state, nowMs);
    if (!canEverFit(share, cost)) return this.#refuseBatch(share, cost, nowMs);
    // Bans depend on the whole limit: a pool of callers that obey may be as large.
    const decision = decide(this.#state, share, { cost, refusalsMax: refusalsMaxOf(subject) }, nowMs);
    if (decision.outcome === 'admitted') this.#admitted += cost;
    return decision;
  }

  /** @param subject with its present limits */
  read(subject: Subject, nowMs: number): RateLimitSnapshot {
    advance(this.#state, nowMs);
    return read(this.#state, this.#shareOf(subject), nowMs);
  }

  /**
   * The admitted units, which are to be counted in Redis, and then settled by {@link settle}. What has left the minute
   * meanwhile counts in the day alone.
   *
   * @returns `undefined` if the last ones are not settled yet
   */
  takeAdmitted(nowMs: number): Use | undefined {
    if (this.#isBeingSent) return undefined;
    this.#isBeingSent = true;
    advance(this.#state, nowMs);
    const units = this.#admitted;
    this.#admitted = 0;
    return { minute: Math.min(units, this.#state.minute.total), day: units };
  }

  /**
   * Units have been counted in Redis or, with an error, perhaps not. They are kept only if they were certainly not counted.
   *
   * @returns whether Redis knows all that was admitted here
   */
  settle(use: Use, error?: unknown): boolean {
    this.#isBeingSent = false;
    if (hasNotRun(error)) this.#admitted += use.day;
    return error === undefined && this.#admitted === 0;
  }

  /** The caller has kept to its limit, so no refusal is counted. */
  #refuseBatch(share: Subject, cost: number, nowMs: number): RateLimitDecision {
    const window = cost > share.perMinute ? 'minute' : 'day';
    const retryAtMs = nowMs + BATCH_RETRY_MS;
    return (
      refusalByBan(read(this.#state, share, nowMs)) ??
      createRefusedDecision(statusAt(this.#state, share, nowMs), { window, releaseAtMs: retryAtMs, retryAtMs })
    );
  }

  #shareOf({ name, perMinute, perDay }: Subject): Subject {
    const shareOf = (limit: number): number => Math.max(1, Math.floor(limit / this.#instances));
    return { name, perMinute: shareOf(perMinute), perDay: perDay === undefined ? undefined : shareOf(perDay) };
  }
}

/** Whether a call has certainly not run: Redis refused it, or there was no connection. Others could be counted twice. */
const hasNotRun = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'ReplyError' || /isn't (?:writeable|ready)/.test(error.message));
