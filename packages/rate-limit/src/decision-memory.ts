import { DAY, MINUTE } from './algorithm.ts';
import { bringToPresent, statusOf, type WindowUse } from './decision.ts';
import type { RateLimitDecision, RateLimitRefusal, RateLimitStatus, WindowName } from './rate-limiter.ts';
import type { Subject } from './subject.ts';
import { SubjectCache } from './subject-cache.ts';

/** How long a process relies on a ban that it remembers: a lifted ban ends everywhere within this time. */
const BAN_TRUSTED_MS = 5_000;
/** After this time no unit of a decision is in the window any more. */
const HOLD_MS: Readonly<Record<WindowName, number>> = { minute: MINUTE.hold, day: DAY.hold };

interface Remembered {
  readonly decision: RateLimitDecision;
  /** By the clock of this process: that of Redis may differ. */
  readonly learnedAtMs: number;
}

const NOTHING = { decision: undefined, learnedAtMs: 0 };

/** The last decision of Redis on each subject: who goes on although it was refused costs Redis nothing. */
export class DecisionMemory {
  readonly #last = new SubjectCache<Remembered>();
  readonly #nowMs: () => number;

  /** @param nowMs a clock in milliseconds that is never set back */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  remember(subject: Subject, decision: RateLimitDecision): void {
    this.#last.set(subject, { decision, learnedAtMs: this.#nowMs() });
  }

  /**
   * The refusal that any request of the subject meets now: because a ban is in force, for 5 s after it was learned, or an
   * unknown caller has used up its minute. Requests of other known callers must be counted, because refusals count.
   */
  refusalInForce(subject: Subject): RateLimitRefusal | undefined {
    const { decision, learnedAtMs } = this.#last.get(subject) ?? NOTHING;
    if (decision === undefined || decision.outcome === 'admitted') return undefined;
    const elapsedMs = this.#nowMs() - learnedAtMs;
    const refusesAll =
      decision.outcome === 'banned'
        ? elapsedMs < BAN_TRUSTED_MS
        : subject.perDay === undefined && decision.minute.remaining === 0;
    const atMs = decision.atMs + elapsedMs;
    return refusesAll && atMs < decision.releaseAtMs ? bringToPresent(decision, atMs) : undefined;
  }

  /** The last status. Nothing is added to what remained until all used units must have left the window. */
  statusOf(subject: Subject): RateLimitStatus {
    const { decision, learnedAtMs } = this.#last.get(subject) ?? NOTHING;
    const elapsedMs = this.#nowMs() - learnedAtMs;
    const atMs = (decision?.atMs ?? learnedAtMs) + elapsedMs;
    const useOf = (name: WindowName): WindowUse => {
      const known = decision?.[name];
      if (known === undefined || elapsedMs >= HOLD_MS[name]) return [0, atMs];
      return [known.used, Math.max(atMs, known.resetAtMs)];
    };
    return statusOf(subject, atMs, useOf('minute'), useOf('day'));
  }
}
