import { DAY, type Kind, type Limits, MINUTE, type Use } from './algorithm.ts';
import { InProcessLimiter, type InProcessLimiterOptions } from './in-process-limiter.ts';
import type {
  LastKnownStatus,
  RateLimitDecision,
  RateLimitRefusal,
  RateLimitSnapshot,
  WindowStatus,
} from './rate-limiter.ts';
import { CALLS_MAX } from './redis-limiter.ts';
import type { Subject } from './subject.ts';
import { SubjectCache } from './subject-cache.ts';

export interface LocalShareOptions extends InProcessLimiterOptions {
  /** The number of instances that share each limit, 1 or more. */
  readonly instances: number;
  /** The last known status of a subject when it begins to be counted here. */
  readonly lastStatusOf: (subject: Subject) => LastKnownStatus;
  /** Counts units in Redis that were admitted here. */
  readonly debit: (subject: Subject, use: Use) => Promise<unknown>;
}

/** Units of one subject that were admitted here and are not yet counted in Redis. */
interface Admitted {
  readonly subject: Subject;
  units: number;
  isBeingSent: boolean;
}

/** Counts while Redis is away, against this instance's share of what Redis last left of each limit. */
export class LocalShare {
  readonly #options: LocalShareOptions;
  readonly #limiter: InProcessLimiter;
  readonly #admitted = new SubjectCache<Admitted>();

  constructor(options: LocalShareOptions) {
    this.#options = options;
    this.#limiter = new InProcessLimiter(options);
  }

  check(subject: Subject, cost: number): RateLimitDecision {
    const admitted = this.#admittedOf(subject);
    const decision = this.#limiter.check(this.#shareOf(subject, cost), cost);
    if (decision.outcome === 'admitted') admitted.units += cost;
    return decision;
  }

  peek(subject: Subject): Promise<RateLimitSnapshot> {
    this.#admittedOf(subject);
    return this.#limiter.peek(this.#shareOf(subject));
  }

  lastKnown(subject: Subject): RateLimitRefusal | LastKnownStatus {
    this.#admittedOf(subject);
    return this.#limiter.lastKnown(this.#shareOf(subject));
  }

  /** Debits in Redis the admitted units of every subject. Called when Redis is back. */
  async bringAllBack(): Promise<void> {
    const all = this.#admitted.values();
    while (all.length > 0) {
      // One call of the script at a time: requests need not wait behind all of them.
      await Promise.all(all.splice(0, CALLS_MAX).map(({ subject }) => this.bringBack(subject)));
    }
  }

  /** Debits in Redis the admitted units of a subject. Called after a call for this subject has succeeded. Never rejects. */
  async bringBack(subject: Subject): Promise<void> {
    const admitted = this.#admitted.get(subject);
    if (admitted === undefined || admitted.isBeingSent) return;
    const { units } = admitted;
    admitted.units = 0;
    admitted.isBeingSent = true;
    try {
      const { used } = await this.#limiter.peek(this.#shareOf(subject));
      if (units > 0) await this.#options.debit(subject, { minute: Math.min(units, used.minute), day: units });
      if (admitted.units > 0) return; // more units were admitted meanwhile
      this.#admitted.delete(subject);
      this.#limiter.forget(subject);
    } catch (error) {
      if (hasNotRun(error)) admitted.units += units; // sent again after the next call that succeeds
    } finally {
      admitted.isBeingSent = false;
    }
  }

  #admittedOf(subject: Subject): Admitted {
    const known = this.#admitted.get(subject);
    if (known !== undefined) return known;
    const { atMs, minute, day } = this.#options.lastStatusOf(subject);
    const share = this.#shareOf(subject);
    this.#takeOver(share, MINUTE, { ...minute, atMs }, share.perMinute);
    if (day !== undefined && share.perDay !== undefined) this.#takeOver(share, DAY, { ...day, atMs }, share.perDay);
    const admitted = { subject, units: 0, isBeingSent: false };
    this.#admitted.set(subject, admitted);
    return admitted;
  }

  /** Frees one unit at the time that callers were told. The times of the others are unknown, so they count as of now. */
  #takeOver(share: Subject, kind: Kind, status: WindowStatus & { readonly atMs: number }, limitHere: number): void {
    const { limit, remaining, resetAtMs, atMs } = status;
    const used = Math.ceil(((limit - remaining) * limitHere) / limit);
    const useOf = (units: number): Use => (kind === DAY ? { minute: 0, day: units } : { minute: units, day: 0 });
    this.#limiter.debit(share, useOf(Math.min(used, 1)), kind.hold - (resetAtMs - atMs));
    this.#limiter.debit(share, useOf(Math.max(used - 1, 0)));
  }

  /** @param atLeast the cost of a batch that fits the whole limit: the share must not refuse it for ever */
  #shareOf({ name, perMinute, perDay }: Subject, atLeast = 1): Subject & Limits {
    const share = (limit: number): number => Math.max(atLeast, Math.floor(limit / this.#options.instances));
    const shares = { perMinute: share(perMinute), perDay: perDay === undefined ? undefined : share(perDay) };
    return { name, ...shares, wholePerMinute: perMinute };
  }
}

/** Whether a call has certainly not run: Redis refused it, or there was no connection. Others could be counted twice. */
const hasNotRun = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'ReplyError' || /isn't (?:writeable|ready)/.test(error.message));
