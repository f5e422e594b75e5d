import type { Use } from './algorithm.ts';
import { InProcessLimiter, type InProcessLimiterOptions } from './in-process-limiter.ts';
import type {
  LastKnownStatus,
  RateLimitDecision,
  RateLimitRefusal,
  RateLimitSnapshot,
  WindowStatus,
} from './rate-limiter.ts';
import type { Subject } from './subject.ts';
import { SubjectCache } from './subject-cache.ts';

export interface LocalShareOptions extends InProcessLimiterOptions {
  /** How many instances share each limit, 1 or more. */
  readonly instances: number;
  /** What was last known of a subject when it begins to be counted here. */
  readonly lastStatusOf: (subject: Subject) => LastKnownStatus;
  /** Counts in Redis what was admitted here. */
  readonly debit: (subject: Subject, use: Use) => Promise<unknown>;
}

/** Units of one subject that were admitted here, and that Redis does not know yet. */
interface Admitted {
  readonly subject: Subject;
  units: number;
  isBeingSent: boolean;
}

/** Counts while Redis is away: this instance's share of what Redis last left of each limit. */
export class LocalShare {
  readonly #options: LocalShareOptions;
  readonly #limiter: InProcessLimiter;
  readonly #admitted = new SubjectCache<Admitted>();

  constructor(options: LocalShareOptions) {
    this.#options = options;
    this.#limiter = new InProcessLimiter(options);
  }

  check(subject: Subject, cost: number): RateLimitDecision {
    const admitted = this.#admitted.get(subject) ?? this.#begin(subject);
    // A batch that fits the whole limit must not be refused for ever.
    const decision = this.#limiter.check(this.#shareOf(subject, cost), cost);
    if (decision.outcome === 'admitted') admitted.units += cost;
    return decision;
  }

  peek(subject: Subject): Promise<RateLimitSnapshot> {
    if (this.#admitted.get(subject) === undefined) this.#begin(subject);
    return this.#limiter.peek(this.#shareOf(subject));
  }

  lastKnown(subject: Subject): RateLimitRefusal | LastKnownStatus {
    if (this.#admitted.get(subject) === undefined) this.#begin(subject);
    return this.#limiter.lastKnown(this.#shareOf(subject));
  }

  /** Debits in Redis what was admitted of every subject. Called when Redis is back. */
  bringAllBack(): void {
    for (const { subject } of this.#admitted.values()) void this.bringBack(subject); // never rejects
  }

  /** Debits in Redis what was admitted of a subject. Called after a call for this very subject has succeeded. */
  async bringBack(subject: Subject): Promise<void> {
    const admitted = this.#admitted.get(subject);
    if (admitted === undefined || admitted.isBeingSent) return;
    const { units } = admitted;
    admitted.units = 0;
    admitted.isBeingSent = true;
    try {
      const { used } = await this.#limiter.peek(this.#shareOf(subject));
      if (units > 0) await this.#options.debit(subject, { minute: Math.min(units, used.minute), day: units });
      if (admitted.units > 0) return; // more was admitted meanwhile
      this.#admitted.delete(subject);
      this.#limiter.forget(subject);
    } catch (error) {
      // It is sent again after the next call that succeeds. If it timed out, it may have run: units are never counted twice.
      if (!(error instanceof Error && error.message === TIMED_OUT)) admitted.units += units;
    } finally {
      admitted.isBeingSent = false;
    }
  }

  #begin(subject: Subject): Admitted {
    const share = this.#shareOf(subject);
    const { minute, day } = this.#options.lastStatusOf(subject);
    const usedOf = ({ limit, remaining }: WindowStatus, limitHere: number) =>
      Math.ceil(((limit - remaining) * limitHere) / limit);
    this.#limiter.debit(share, {
      minute: usedOf(minute, share.perMinute),
      day: day === undefined || share.perDay === undefined ? 0 : usedOf(day, share.perDay),
    });
    const admitted = { subject, units: 0, isBeingSent: false };
    this.#admitted.set(subject, admitted);
    return admitted;
  }

  #shareOf(subject: Subject, atLeast = 1): Subject {
    const share = (limit: number): number => Math.max(atLeast, Math.floor(limit / this.#options.instances));
    const { name, perMinute, perDay } = subject;
    return { name, perMinute: share(perMinute), perDay: perDay === undefined ? undefined : share(perDay) };
  }
}

/** How ioredis says that a command got no reply within `commandTimeout`. */
const TIMED_OUT = 'Command timed out';
