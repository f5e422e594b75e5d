import type { Cluster, Redis } from 'ioredis';
import type { Ban, RateLimitDecision } from '../port.ts';
import { noteBan } from '../redis/ban-index.ts';
import type { RedisLimiter } from '../redis/redis-limiter.ts';
import type { RedisUnavailableError, WithoutReply } from '../redis/redis-unavailable-error.ts';
import type { RateLimitSubject } from '../subject.ts';
import type { DecisionMemory } from './decision-memory.ts';
import type { LocalFallback } from './local-fallback.ts';

export interface RedisSyncOptions {
  readonly redis: RedisLimiter;
  readonly connection: Redis | Cluster;
  readonly memory: DecisionMemory;
  readonly fallback: LocalFallback;
  /** Records a failed call on the subject; throws any other error again. */
  readonly noteFailure: (subject: RateLimitSubject, error: unknown) => RedisUnavailableError;
}

/** A check that Redis did not decide on in time. */
interface LateCall {
  /** That of the process. */
  readonly decision: RateLimitDecision;
  /** That of Redis. */
  readonly late: RateLimitDecision | WithoutReply;
  /** By the clock of Redis. */
  readonly sentAtMs: number;
}

/** Subjects that are debited at once; requests go between. */
const BATCH = 100;

/**
 * Brings Redis to what this process knows: debits what was admitted here while it was away, sets the bans that were
 * decided on meanwhile, and counts again what it has forgotten.
 *
 * What is sent goes before later requests of the same subject. No method rejects.
 */
export class RedisSync {
  readonly #options: RedisSyncOptions;
  /** Subjects whose use is being counted again, by storage key. */
  readonly #restoring = new Set<string>();

  constructor(options: RedisSyncOptions) {
    this.#options = options;
  }

  /** Sends what was decided on in the process for a subject. */
  async send(subject: RateLimitSubject): Promise<void> {
    const { redis, memory, fallback, noteFailure } = this.#options;
    const unsynced = fallback.drain(subject);
    if (unsynced === undefined) return;
    const { use, ban } = unsynced;
    if (ban !== undefined) void this.#sendBan(subject, ban);
    const sentAtMs = redis.nowMs;
    try {
      await redis.debit(subject, use);
      memory.addDebit(subject, use, redis.nowMs);
    } catch (error) {
      const { mayHaveRun, lateDecision } = noteFailure(subject, error);
      // What may have run is not sent again, unless it turns out that it has not: by the next reply on the subject.
      if (!mayHaveRun) fallback.record(subject, use);
      else if (!memory.addDebit(subject, use, sentAtMs)) {
        void lateDecision?.then((late) => {
          if (late === 'not run') fallback.record(subject, use);
        });
      }
    }
  }

  /**
   * Keeps what was admitted in the process because Redis was late, now that it is known what became of the call: nothing
   * where Redis has counted it. Where that is never known, the next reply on the subject shows it.
   */
  keepAdmitted(subject: RateLimitSubject, cost: number, { decision, late, sentAtMs }: LateCall): void {
    if (decision.outcome !== 'admitted') return;
    if (late === 'unknown') this.#options.memory.addDebit(subject, { minute: cost, day: cost }, sentAtMs);
    else if (late === 'not run' || late.outcome !== 'admitted') {
      this.#options.fallback.record(subject, { minute: cost, day: cost }, decision.atMs);
    }
  }

  /** Sends what was decided on in the process for all subjects, until that is to end. */
  async sendAll(isOver: () => boolean): Promise<void> {
    const subjects = this.#options.fallback.pendingSubjects();
    for (let i = 0; i < subjects.length && !isOver(); i += BATCH) {
      await Promise.all(subjects.slice(i, i + BATCH).map((subject) => this.send(subject)));
    }
  }

  /**
   * Counts again what Redis has forgotten of a subject. Where that fails, the next reply on it shows so, and it is tried
   * again.
   */
  async restore(subject: RateLimitSubject): Promise<void> {
    const { redis, memory, noteFailure } = this.#options;
    const { storageKey } = subject;
    if (this.#restoring.has(storageKey)) return;
    this.#restoring.add(storageKey);
    await undefined; // all decisions of the same reply are remembered first
    const seen = memory.seenState(subject);
    try {
      if (seen !== undefined) {
        await Promise.all([redis.raise(subject, seen.use), this.#restoreBan(subject, seen.ban)]);
      }
    } catch (error) {
      noteFailure(subject, error);
    } finally {
      this.#restoring.delete(storageKey);
    }
  }

  /** Lists a ban. Where that fails it is missing from lists, and holds all the same. */
  noteBan({ storageKey }: RateLimitSubject, untilMs: number): void {
    const { connection, redis } = this.#options;
    noteBan(connection, storageKey, { untilMs, nowMs: redis.nowMs }).catch(() => {});
  }

  async #sendBan(subject: RateLimitSubject, ban: Ban): Promise<void> {
    const { redis, fallback, noteFailure } = this.#options;
    try {
      await this.#restoreBan(subject, { ...ban, untilMs: ban.untilMs - redis.clockOffsetMs });
    } catch (error) {
      noteFailure(subject, error);
      fallback.recordBan(subject, ban);
    }
  }

  async #restoreBan(subject: RateLimitSubject, ban: Ban | undefined): Promise<void> {
    if (ban === undefined || subject.type !== 'api-key') return;
    this.noteBan(subject, ban.untilMs);
    await this.#options.redis.restoreBan(subject, ban);
  }
}
