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
  /** A separate connection, made by `connectRedis`. Its owner closes it. */
  readonly redis: Redis | Cluster;
  /** How many instances share the limits while Redis is away, 1 or more. @default 1 */
  readonly instances?: number;
  /** Called once per change, for one log line and one metric. Must not throw. */
  readonly onStateChange?: (change: LimiterStateChange) => void;
  readonly observer?: LimiterObserver;
  /** Replaces the clocks of Redis and of this process in tests, in milliseconds since the epoch. */
  readonly nowMs?: () => number;
}

/** Enough to lie on several masters in a cluster: one that is away must not count as all. */
const PROBES = Array.from({ length: 8 }, (_, i): Subject => ({ name: `probe:${i}`, perMinute: 1, perDay: undefined }));

/** The time in milliseconds since the epoch. It is never set back: nothing is remembered for longer than intended. */
const steadyNowMs = (): number => performance.timeOrigin + performance.now();

/**
 * Counts in Redis, and in the process while Redis is away. No request fails because of Redis, and none waits for longer
 * than the timeout of a call. When Redis is back, it is told what was admitted here.
 */
export class ResilientLimiter implements RateLimiter {
  /** Resolves when Redis was reached, or was not reached within a second. Requests may come earlier. */
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

  /** Whether Redis is away, and requests are counted in the process. */
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
      return this.#local.peek(subject); // #onCall has reported the error
    }
  }

  lastKnown(subject: Subject): RateLimitRefusal | LastKnownStatus {
    const refusal = this.#last.refusalOf(subject, this.isDegraded);
    if (refusal !== undefined) return refusal;
    return this.isDegraded ? this.#local.lastKnown(subject) : this.#last.statusOf(subject);
  }

  /** Ends the timers. The owner of the connection closes it. */
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
        noteBan(redis, ban).catch(() => {}); // the ban is then missing from lists, but in force
      }
      void this.#local.bringBack(subject); // never rejects
      return this.#last.remember(subject, decision, result.used);
    } catch {
      // #onCall has reported the error. Meanwhile a ban may have become known.
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
