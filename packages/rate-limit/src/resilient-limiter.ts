import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { noteBan } from './bans.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { reportCheck } from './decision.ts';
import { DecisionMemory } from './decision-memory.ts';
import { InProcessLimiter } from './in-process-limiter.ts';
import type {
  LastKnownStatus,
  LimiterObserver,
  RateLimitDecision,
  RateLimiter,
  RateLimitRefusal,
  RateLimitSnapshot,
} from './rate-limiter.ts';
import { RedisLimiter } from './redis-limiter.ts';
import { assertCost, type Subject } from './subject.ts';
import { reasonOf } from './unavailable-reason.ts';

export interface ResilientLimiterOptions {
  /** A separate connection, made by `connectRedis`. Its owner closes it. */
  readonly redis: Redis | Cluster;
  /** How many instances share the limits while Redis is unavailable, 1 or more. @default 1 */
  readonly instances?: number;
  /** Called once per change, for one log line and one metric. Must not throw. */
  readonly onStateChange?: (change: LimiterStateChange) => void;
  readonly observer?: LimiterObserver;
  /** Replaces the clocks of Redis and of this process in tests, in milliseconds since the epoch. */
  readonly nowMs?: () => number;
}

/** Redis became unavailable, or came back. */
export interface LimiterStateChange {
  /** Where requests are counted from now on. */
  readonly countedIn: 'redis' | 'process';
  /** The message of Redis or the connection, for a log: one short line without a secret. */
  readonly reason: string;
}

/** Enough to lie on several masters in a cluster: one that is unavailable must not count as all. */
const PROBES = Array.from({ length: 8 }, (_, i): Subject => ({ name: `probe:${i}`, perMinute: 1, perDay: undefined }));
/** How long a start waits for Redis before Redis counts as unavailable. */
const START_MS = 1_000;
/** The time is counted in steps of this length: time during which this process did not run is not held against Redis. */
const START_STEP_MS = 10;

/** The time in milliseconds since the epoch. It is never set back: nothing is remembered for longer than intended. */
const monotonicNowMs = (): number => performance.timeOrigin + performance.now();

/**
 * Counts in Redis. A call that fails is decided in the process instead, and so are all while Redis is unavailable: no request
 * fails because of Redis, or waits for longer than the timeout of a call. When Redis is back, it decides by what it knew
 * before; what was admitted meanwhile is forgotten.
 */
export class ResilientLimiter implements RateLimiter {
  /** Resolves when Redis was reached, or was not reached within a second. Requests may come earlier. */
  readonly started: Promise<void>;
  readonly #options: ResilientLimiterOptions;
  readonly #redis: RedisLimiter;
  readonly #breaker: CircuitBreaker;
  readonly #memory: DecisionMemory;
  #fallback: InProcessLimiter;
  /** Until the start is over, Redis is expected to be there. */
  #isStarting = true;

  constructor(options: ResilientLimiterOptions) {
    const { redis, observer, nowMs } = options;
    this.#options = options;
    this.#memory = new DecisionMemory(nowMs ?? monotonicNowMs);
    this.#fallback = this.#createFallback();
    this.#breaker = new CircuitBreaker({
      // A write: Redis refuses it if it would refuse a check.
      probe: () => Promise.any(PROBES.map((subject) => this.#redis.lift(subject))),
      onChange: () => this.#onAvailabilityChange(),
    });
    this.#redis = new RedisLimiter({ redis, nowMs, breaker: this.#breaker, observer });
    redis.on('ready', this.#breaker.probe);
    this.started = this.#start();
  }

  /** Whether Redis is unavailable, and requests are counted in the process. */
  get isDegraded(): boolean {
    return this.#breaker.isOpen;
  }

  /** Why Redis is unavailable: one short line without a secret. `undefined` if it is available. */
  get unavailableReason(): string | undefined {
    return this.isDegraded ? reasonOf(this.#options.redis, this.#breaker.lastError) : undefined;
  }

  check(subject: Subject, cost: number): RateLimitDecision | Promise<RateLimitDecision> {
    assertCost(subject, cost);
    const refusal = this.#memory.refusalInForce(subject);
    if (refusal !== undefined) {
      this.#options.observer?.onDecision('memory');
      return refusal;
    }
    return this.isDegraded ? this.#fallback.check(subject, cost) : this.#checkInRedis(subject, cost);
  }

  async peek(subject: Subject): Promise<RateLimitSnapshot> {
    if (this.isDegraded) return this.#fallback.peek(subject);
    return this.#redis.peek(subject).catch(() => this.#fallback.peek(subject));
  }

  lastKnown(subject: Subject): RateLimitRefusal | LastKnownStatus {
    const refusal = this.#memory.refusalInForce(subject);
    if (refusal !== undefined) return refusal;
    if (this.isDegraded) return this.#fallback.lastKnown(subject);
    return { outcome: 'last known', ...this.#memory.statusOf(subject) };
  }

  /** Ends the timers. The owner of the connection closes it. */
  close(): void {
    this.#options.redis.off('ready', this.#breaker.probe);
    this.#breaker[Symbol.dispose]();
    this.#isStarting = false;
  }

  async #start(): Promise<void> {
    void this.#breaker.probe();
    for (let waitedMs = 0; waitedMs < START_MS && this.isDegraded && this.#isStarting; waitedMs += START_STEP_MS) {
      await sleep(START_STEP_MS, undefined, { ref: false });
    }
    if (!this.#isStarting) return;
    this.#isStarting = false;
    if (this.isDegraded) this.#reportState();
  }

  async #checkInRedis(subject: Subject, cost: number): Promise<RateLimitDecision> {
    try {
      const decision = await this.#redis.check(subject, cost);
      const { observer, redis } = this.#options;
      reportCheck(observer, 'redis', subject, decision);
      // Without a note, the ban is missing from lists, but in force.
      if (decision.outcome === 'banned' && decision.isNew) noteBan(redis, subject.name, decision).catch(() => {});
      this.#memory.remember(subject, decision);
      return decision;
    } catch {
      // Meanwhile a refusal may have become known.
      return this.#memory.refusalInForce(subject) ?? this.#fallback.check(subject, cost);
    }
  }

  #createFallback(): InProcessLimiter {
    const { nowMs = Date.now, instances, observer } = this.#options;
    return new InProcessLimiter({ nowMs, instances, observer });
  }

  #onAvailabilityChange(): void {
    if (!this.isDegraded) this.#fallback = this.#createFallback(); // the next absence begins from empty
    if (!this.#isStarting) this.#reportState();
  }

  #reportState(): void {
    const { isDegraded, unavailableReason: reason = 'Redis responds' } = this;
    this.#options.onStateChange?.({ countedIn: isDegraded ? 'process' : 'redis', reason });
  }
}
