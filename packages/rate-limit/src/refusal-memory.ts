import { type BannedDecision, type ExceededDecision, wholeSecondsUntil } from './rate-limiter.ts';
import type { RateLimitSubject } from './subject.ts';
import { SubjectMap } from './subject-map.ts';

/** A refusal that every further request meets, too, until it ends. */
export type LastingRefusal = BannedDecision | ExceededDecision;

/** How long a process goes by a ban that it remembers: one that is lifted holds nowhere any more after this time. */
const BAN_MEMORY_MS = 5_000;

interface RememberedRefusal {
  readonly decision: LastingRefusal;
  readonly learnedAtMs: number;
}

/**
 * Refusals that were lately told: the ban of a key, and the used-up limit of an address, which nothing but time frees.
 * So a banned key that hammers costs Redis one call in 5 s, and an address over its limit one call for each unit that is
 * freed. Goes by a clock of its own that never runs backwards, and keeps to the time of the decisions.
 */
export class RefusalMemory {
  readonly #refusals = new SubjectMap<RememberedRefusal>();

  remember(subject: RateLimitSubject, decision: LastingRefusal, monotonicMs: number): void {
    this.#refusals.set(subject, { decision, learnedAtMs: monotonicMs });
  }

  /** The refusal as it stands now, if one is remembered and still holds. */
  recall(subject: RateLimitSubject, monotonicMs: number): LastingRefusal | undefined {
    if (this.#refusals.size === 0) return undefined;
    const remembered = this.#refusals.get(subject);
    if (remembered === undefined) return undefined;
    const { decision, learnedAtMs } = remembered;
    const elapsedMs = monotonicMs - learnedAtMs;
    const atMs = decision.atMs + elapsedMs;
    if (hasEnded(decision, atMs, elapsedMs)) {
      this.#refusals.delete(subject);
      return undefined;
    }
    return { ...decision, atMs, retryAfterSeconds: wholeSecondsUntil(promisedAtMs(decision), atMs) };
  }
}

const hasEnded = (decision: LastingRefusal, atMs: number, elapsedMs: number): boolean =>
  decision.outcome === 'api_key_banned'
    ? elapsedMs >= BAN_MEMORY_MS || atMs >= decision.bannedUntilMs
    : atMs >= decision.releaseAtMs;

/** Until when its receiver was told to wait: at an exceeded limit that may be later than the release. */
const promisedAtMs = (decision: LastingRefusal): number =>
  decision.outcome === 'api_key_banned' ? decision.releaseAtMs : decision.atMs + decision.retryAfterSeconds * 1_000;
