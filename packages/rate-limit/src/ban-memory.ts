import { growingCache } from './growing-cache.ts';
import type { BannedDecision } from './rate-limiter.ts';
import { wholeSecondsUntil } from './subject-state.ts';

/** How long a process goes by what it remembers: a lifted ban holds everywhere within this time. */
const BAN_MEMORY_MS = 5_000;
const BANS_MAX = 10_000;

interface RememberedBan {
  readonly decision: BannedDecision;
  readonly learnedAtMs: number;
}

/**
 * Bans that were lately told, so that a banned key that hammers costs Redis one call in 5 s. It goes by a clock of its
 * own that never runs backwards, and keeps to the time of the decisions.
 */
export class BanMemory {
  readonly #bans = growingCache<RememberedBan>(BANS_MAX);

  remember(storageKey: string, decision: BannedDecision, monotonicMs: number): void {
    this.#bans.set(storageKey, { decision, learnedAtMs: monotonicMs });
  }

  /** The ban as it stands now, if one is remembered and still holds. */
  recall(storageKey: string, monotonicMs: number): BannedDecision | undefined {
    if (this.#bans.size === 0) return undefined;
    const ban = this.#bans.get(storageKey);
    if (ban === undefined) return undefined;
    const { decision, learnedAtMs } = ban;
    const elapsedMs = monotonicMs - learnedAtMs;
    const atMs = decision.atMs + elapsedMs;
    if (elapsedMs >= BAN_MEMORY_MS || atMs >= decision.bannedUntilMs) {
      this.#bans.delete(storageKey);
      return undefined;
    }
    return { ...decision, atMs, retryAfterSeconds: wholeSecondsUntil(decision.releaseAtMs, atMs) };
  }
}
