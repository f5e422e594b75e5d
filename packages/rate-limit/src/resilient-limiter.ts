import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { noteBan } from './bans.ts';
import { reasonOf } from './connect-redis.ts';
import { lastKnownOf, refusalByBan } from './decision.ts';
import { LastKnown } from './last-known.ts';
import { LocalShare } from './local-share.ts';
import {
  type LastKnownStatus,
  type LimiterObserver,
  type RateLimitDecision,
  type RateLimiter,
  type RateLimitRefusal,
  type RateLimitSnapshot,
  reportCheck,
} from './rate-limiter.ts';
import { type LimiterStateChange, RedisHealth } from './redis-health.ts';
import { CALLS_MAX, RedisLimiter } from './redis-limiter.ts';
import { assertCost, type Subject } from './subject.ts';
import { SubjectCache } from './subject-cache.ts';

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

/** All that this process knows of a subject. */
interface SubjectRecord {
  readonly last: LastKnown;
  /** What was counted here. `undefined` once Redis knows all of it. */
  local: LocalShare | undefined;
}

/** Enough to lie on several masters in a cluster: one that is unavailable must not count as all. */
const PROBES = Array.from({ length: 8 }, (_, i): Subject => ({ name: `probe:${i}`, perMinute: 1, perDay: undefined }));
/** Redis is probed this often unless a call has succeeded meanwhile. */
const PROBE_INTERVAL_MS = 1_000;
/** How long a start waits for Redis before Redis counts as unavailable. */
const START_MS = 1_000;
/** The time is counted in steps of this length: time during which this process did not run is not held against Redis. */
const START_STEP_MS = 10;

/** The time in milliseconds since the epoch. It is never set back: nothing is remembered for longer than intended. */
const monotonicNowMs = (): number => performance.timeOrigin + performance.now();

/**
 * Counts in Redis, and in the process while Redis is unavailable. No request fails because of Redis, or waits for longer than
 * the timeout of a call. When Redis is back, it is debited what was admitted here.
 */
export class ResilientLimiter implements RateLimiter {
  /** Resolves when Redis was reached, or was not reached within a second. Requests may come earlier. */
  readonly started: Promise<void>;
  readonly #options: ResilientLimiterOptions;
  readonly #records = new SubjectCache<SubjectRecord>();
  readonly #health = new RedisHealth();
  readonly #redis: RedisLimiter;
  /** For counting here. */
  readonly #nowMs: () => number;
  /** For what is remembered. */
  readonly #monotonicNowMs: () => number;
  readonly #timer: NodeJS.Timeout;
  /** As last reported. Before the start is over, Redis is expected to be there. */
  #countedIn: LimiterStateChange['countedIn'] = 'redis';
  #isStarting = true;
  #isProbing = false;

  constructor(options: ResilientLimiterOptions) {
    const { redis, observer, nowMs } = options;
    this.#options = options;
    this.#nowMs = nowMs ?? Date.now;
    this.#monotonicNowMs = nowMs ?? monotonicNowMs;
    this.#redis = new RedisLimiter({ redis, nowMs, health: this.#health, observer });
    redis.on('ready', this.#probe);
    this.#timer = setInterval(() => {
      if (this.#health.silenceMs >= PROBE_INTERVAL_MS) void this.#probe();
    }, PROBE_INTERVAL_MS).unref();
    this.started = this.#start();
  }

  /** Whether Redis is unavailable, and requests are counted in the process. */
  get isDegraded(): boolean {
    return this.#health.isUnavailable;
  }

  /** Why Redis is unavailable: one short line without a secret. `undefined` if it is available. */
  get unavailableReason(): string | undefined {
    return this.isDegraded ? reasonOf(this.#options.redis, this.#health.lastError) : undefined;
  }

  check(subject: Subject, cost: number): RateLimitDecision | Promise<RateLimitDecision> {
    assertCost(subject, cost);
    const refusal = this.#refusalInForce(subject, this.isDegraded);
    if (refusal === undefined) {
      return this.isDegraded ? this.#checkHere(subject, cost) : this.#checkInRedis(subject, cost);
    }
    this.#options.observer?.onDecision('memory');
    return refusal;
  }

  async peek(subject: Subject): Promise<RateLimitSnapshot> {
    if (this.isDegraded) return this.#readHere(subject);
    try {
      const snapshot = await this.#follow(this.#redis.peek(subject));
      const ban = refusalByBan(snapshot);
      if (ban === undefined) this.#records.get(subject)?.last.forgetBan();
      else this.#recordOf(subject).last.remember(subject, ban, this.#monotonicNowMs());
      return snapshot;
    } catch {
      return this.#readHere(subject);
    }
  }

  lastKnown(subject: Subject): RateLimitRefusal | LastKnownStatus {
    const refusal = this.#refusalInForce(subject, this.isDegraded);
    if (refusal !== undefined) return refusal;
    if (this.isDegraded) return lastKnownOf(this.#readHere(subject));
    const last = this.#records.get(subject)?.last ?? new LastKnown();
    return { outcome: 'last known', ...last.statusAt(subject, this.#monotonicNowMs()) };
  }

  /** Ends the timers. The owner of the connection closes it. */
  close(): void {
    this.#options.redis.off('ready', this.#probe);
    clearInterval(this.#timer);
    this.#isStarting = false;
  }

  async #start(): Promise<void> {
    void this.#probe();
    for (let waitedMs = 0; waitedMs < START_MS && this.isDegraded && this.#isStarting; waitedMs += START_STEP_MS) {
      await sleep(START_STEP_MS, undefined, { ref: false });
    }
    if (!this.#isStarting) return;
    this.#isStarting = false;
    this.#reportChange();
    if (!this.isDegraded) await this.#bringAllBack(); // requests that came earlier
  }

  #refusalInForce(subject: Subject, isUnavailable: boolean): RateLimitRefusal | undefined {
    return this.#records.get(subject)?.last.refusalInForce(subject, this.#monotonicNowMs(), isUnavailable);
  }

  async #checkInRedis(subject: Subject, cost: number): Promise<RateLimitDecision> {
    try {
      const decision = await this.#follow(this.#redis.check(subject, cost));
      const { observer, redis } = this.#options;
      reportCheck(observer, 'redis', subject, decision);
      // Without a note, the ban is missing from lists, but in force.
      if (decision.outcome === 'banned' && decision.isNew) noteBan(redis, subject.name, decision).catch(() => {});
      const record = this.#recordOf(subject);
      if (record.local !== undefined) void this.#bringBack(record, record.local);
      return record.last.remember(subject, decision, this.#monotonicNowMs());
    } catch {
      // Meanwhile a ban may have become known.
      return this.#refusalInForce(subject, true) ?? this.#checkHere(subject, cost);
    }
  }

  #checkHere(subject: Subject, cost: number): RateLimitDecision {
    const decision = this.#shareOf(subject).check(subject, cost, this.#nowMs());
    reportCheck(this.#options.observer, 'process', subject, decision);
    return decision;
  }

  #readHere(subject: Subject): RateLimitSnapshot {
    return this.#shareOf(subject).read(subject, this.#nowMs());
  }

  #recordOf(subject: Subject): SubjectRecord {
    const record = this.#records.get(subject) ?? { last: new LastKnown(), local: undefined };
    this.#records.set(subject, record);
    return record;
  }

  /** Begins to count a subject here if necessary. */
  #shareOf(subject: Subject): LocalShare {
    const { instances = 1 } = this.#options;
    const record = this.#recordOf(subject);
    record.local ??= new LocalShare(
      subject,
      instances,
      record.last.statusAt(subject, this.#monotonicNowMs()),
      this.#nowMs(),
    );
    return record.local;
  }

  /** Debits in Redis the admitted units of every subject. */
  async #bringAllBack(): Promise<void> {
    const all = this.#records.values();
    while (all.length > 0) {
      // One call of the script at a time: requests need not wait behind all of them.
      const some = all.splice(0, CALLS_MAX);
      await Promise.all(some.map((record) => record.local && this.#bringBack(record, record.local)));
    }
  }

  /** Debits in Redis the admitted units of a subject. Never rejects. */
  async #bringBack(record: SubjectRecord, local: LocalShare): Promise<void> {
    const use = local.takeAdmitted(this.#nowMs());
    if (use === undefined) return;
    let failure: unknown;
    try {
      if (use.day > 0) await this.#follow(this.#redis.debit(local.subject, use));
    } catch (error) {
      failure = error;
    }
    if (local.settle(use, failure)) record.local = undefined;
  }

  /** Waits for a call of Redis, and does what follows from its end for all calls. */
  async #follow<Result>(call: Promise<Result>): Promise<Result> {
    try {
      return await call;
    } finally {
      if (this.#health.isSuspect) void this.#probe();
      this.#reportChange();
    }
  }

  #reportChange(): void {
    const { isDegraded, unavailableReason: reason = 'Redis responds' } = this;
    const countedIn = isDegraded ? 'process' : 'redis';
    if (this.#isStarting || countedIn === this.#countedIn) return;
    this.#countedIn = countedIn;
    this.#options.onStateChange?.({ countedIn, reason });
    if (!isDegraded) void this.#bringAllBack();
  }

  /** Writes that count nothing: Redis refuses them if it would refuse a check. Never rejects. */
  readonly #probe = async (): Promise<void> => {
    if (this.#isProbing) return;
    this.#isProbing = true;
    try {
      await Promise.any(PROBES.map((subject) => this.#redis.debit(subject, { minute: 0, day: 0 })));
    } catch {
      this.#health.probeFailed();
    }
    this.#isProbing = false;
    this.#reportChange();
  };
}
