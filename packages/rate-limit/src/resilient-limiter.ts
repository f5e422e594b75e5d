import type { Cluster, Redis } from 'ioredis';
import { noteBan } from './bans.ts';
import { reasonOf } from './connect-redis.ts';
import { bannedDecisionOf, banOf, decisionOf, snapshotOf } from './decision.ts';
import { LastDecisions } from './last-decisions.ts';
import { LocalShare } from './local-share.ts';
import type {
  LastKnownStatus,
  LimiterObserver,
  RateLimitDecision,
  RateLimiter,
  RateLimitRefusal,
  RateLimitSnapshot,
} from './rate-limiter.ts';
import { type LimiterStateChange, RedisHealth } from './redis-health.ts';
import { RedisLimiter, type RedisLimiterOptions } from './redis-limiter.ts';
import { assertCost, type Subject } from './subject.ts';

export interface ResilientLimiterOptions {
  /** A connection of its own, as `connectRedis` makes it. Its owner closes it. */
  readonly redis: Redis | Cluster;
  /** How many instances share the limits while Redis is away, 1 or more. @default 1 */
  readonly instances?: number;
  /** Called once per change, for one log line and one metric. Must not throw. */
  readonly onStateChange?: (change: LimiterStateChange) => void;
  readonly observer?: LimiterObserver;
  /** A clock in place of Redis' own and of this process', in milliseconds since the epoch: for tests. */
  readonly nowMs?: () => number;
}

/** So many that in a cluster they lie on several masters: one that is away must not count as all. */
const PROBES = Array.from({ length: 8 }, (_, i): Subject => ({ name: `probe:${i}`, perMinute: 1, perDay: undefined }));

/** In milliseconds since the epoch. It is never set back, so that nothing that is remembered lasts for longer than it should. */
const steadyNowMs = (): number => performance.timeOrigin + performance.now();

/**
 * Counts in Redis, and in the process while that is away. No request fails because of Redis, and none waits for it for longer
 * than a call may take. On its return Redis is told what was admitted here.
 */
export class ResilientLimiter implements RateLimiter {
  /** Resolves when Redis was reached, or was not within a second. Requests may come before. */
  readonly started: Promise<void>;
  readonly #options: ResilientLimiterOptions;
  readonly #redis: RedisLimiter;
  readonly #health: RedisHealth;
  readonly #last: LastDecisions;
  readonly #local: LocalShare;

  constructor(options: ResilientLimiterOptions) {
    const { redis, instances = 1, onStateChange, observer, nowMs = Date.now } = options;
    this.#options = options;
    this.#last = new LastDecisions(options.nowMs ?? steadyNowMs);
    this.#redis = new RedisLimiter({ redis, nowMs: options.nowMs, onCall: this.#onCall });
    this.#local = new LocalShare({
      nowMs,
      observer,
      instances,
      lastStatusOf: (subject) => this.#last.statusOf(subject),
      debit: (subject, use) => this.#redis.call('debit', subject, use),
    });
    this.#health = new RedisHealth({
      probe: this.#probe,
      describe: (error) => reasonOf(redis, error),
      onChange: (change) => onStateChange?.(change),
    });
    this.started = this.#health.started;
    redis.on('ready', this.#onReady);
    this.#health.probe();
  }

  /** Whether Redis is away, so that requests are counted in the process. */
  get isDegraded(): boolean {
    return this.#health.isAway;
  }

  /** Why Redis is away: one short line without a secret. `undefined` if it is not away. */
  get awayReason(): string | undefined {
    return this.#health.awayReason;
  }

  check(subject: Subject, cost: number): RateLimitDecision | Promise<RateLimitDecision> {
    assertCost(subject, cost);
    const refusal = this.#last.refusalOf(subject, this.isDegraded);
    if (refusal === undefined) {
      return this.isDegraded ? this.#local.check(subject, cost) : this.#checkInRedis(subject, cost);
    }
    this.#options.observer?.onDecision('memory');
    return refusal;
  }

  async peek(subject: Subject): Promise<RateLimitSnapshot> {
    if (this.isDegraded) return this.#local.peek(subject);
    try {
      const result = await this.#redis.call('read', subject);
      const snapshot = snapshotOf(result, subject);
      const ban = bannedDecisionOf(snapshot);
      if (ban === undefined) this.#last.forgetBan(subject);
      else this.#last.remember(subject, ban, result.used);
      return snapshot;
    } catch {
      return this.#local.peek(subject); // #onCall knows why
    }
  }

  lastKnown(subject: Subject): RateLimitRefusal | LastKnownStatus {
    const refusal = this.#last.refusalOf(subject, this.isDegraded);
    if (refusal !== undefined) return refusal;
    return this.isDegraded ? this.#local.lastKnown(subject) : this.#last.statusOf(subject);
  }

  /** Ends the timers. The connection is left to its owner. */
  close(): void {
    this.#options.redis.off('ready', this.#onReady);
    this.#health.close();
  }

  async #checkInRedis(subject: Subject, cost: number): Promise<RateLimitDecision> {
    const { redis, observer } = this.#options;
    try {
      const result = await this.#redis.call('decide', subject, { minute: cost, day: cost });
      const decision = decisionOf(result, subject);
      observer?.onDecision('redis');
      if (decision.outcome === 'banned' && decision.isNew) {
        const ban = banOf(subject, decision);
        observer?.onBan(ban);
        noteBan(redis, ban).catch(() => {}); // it is missing from lists then, and holds all the same
      }
      void this.#local.bringBack(subject); // never rejects
      return this.#last.remember(subject, decision, result.used);
    } catch {
      // #onCall knows why. Meanwhile a ban may have become known.
      return this.#last.refusalOf(subject, true) ?? this.#local.check(subject, cost);
    }
  }

  readonly #onCall: NonNullable<RedisLimiterOptions['onCall']> = (durationMs, error) => {
    this.#options.observer?.onRedisCall(durationMs);
    if (error !== undefined) {
      this.#health.failed(error);
      return;
    }
    const wasAway = this.isDegraded;
    this.#health.succeeded();
    if (wasAway) void this.#local.bringAllBack();
  };

  readonly #onReady = (): void => this.#health.probe();

  /** Writes that count nothing: Redis refuses them if it would refuse a check. */
  readonly #probe = (): Promise<unknown> => Promise.any(PROBES.map((subject) => this.#redis.call('debit', subject)));
}
