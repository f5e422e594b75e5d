import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, type Redis } from 'ioredis';
import { bannedDecisionOf } from '../headers.ts';
import {
  banOf,
  type LimiterObserver,
  type LimiterStateChange,
  type RateLimitDecision,
  type RateLimitRecall,
  type RateLimitSnapshot,
  type RateLimitUse,
  type ServingLimiter,
} from '../port.ts';
import { CALL_TIMEOUT_MS, RedisLimiter } from '../redis/redis-limiter.ts';
import { RedisUnavailableError } from '../redis/redis-unavailable-error.ts';
import { assertCost, clientAddressSubject, type RateLimitSubject } from '../subject.ts';
import { AwayReport } from './away-report.ts';
import type { DecisionMemory } from './decision-memory.ts';
import { LocalFallback } from './local-fallback.ts';
import { RedisSync } from './redis-sync.ts';

export interface ResilientLimiterOptions {
  /** A connection of its own, as `connectRedis` makes it. Its owner closes it. */
  readonly redis: Redis | Cluster;
  /** How many instances share the limits while Redis is away, 1 or more. @default 1 */
  readonly instances?: number;
  /** How long a call may take before the request is decided in the process, in milliseconds. @default 100 */
  readonly timeoutMs?: number;
  /** Called once per change, for one log line and one metric. Must not throw. */
  readonly onStateChange?: (change: LimiterStateChange) => void;
  readonly observer?: LimiterObserver;
  /** A clock in place of Redis' own and of this process', in milliseconds since the epoch: for tests. */
  readonly nowMs?: () => number;
}

/** The Redis that one limiter counts in. */
export interface RedisMaster {
  /** A node's `host:port` in a cluster, else {@link WHOLE}. */
  readonly name: string;
  /** Shared by the masters of a cluster, because keys move between them. */
  readonly memory: DecisionMemory;
  /** Whether the process has just started, or the connection is still being made, or requests may be sent at once. */
  readonly state: 'starting' | 'connecting' | 'connected';
  /** Whether a probe would reach it. */
  readonly canProbe: () => boolean;
}

const PROBE_INTERVAL_MS = 1_000;
/** A connection without a response to so many probes is made anew: it may lead to a machine that is gone. */
const SILENT_PROBES_MAX = 3;
/** How long a start waits for Redis before the last probe. */
const START_MS = 1_000;
/** The last probe is waited for in steps of this length. */
const START_STEP_MS = 10;
/** Nothing is counted by a probe, but it is a write, which Redis refuses where it would refuse a check. */
const NO_USE: RateLimitUse = { minute: 0, day: 0 };

/**
 * Counts in one Redis, and in the process while that is away: no request fails because of it, and none waits for longer
 * than a call may take, 100 ms.
 *
 * - A circuit breaker opens when calls fail. Redis is then probed once a second, and whenever a connection is made. A
 *   call that fails before that is decided in the process, too.
 * - What was admitted in the process is debited in Redis on its return: before the next request of the same subject.
 * - Nothing is counted twice that may have run.
 * - What Redis forgets of a subject is counted again with the first reply that shows it. That one request may pass.
 * - The ban of a key is remembered for up to 5 s, an address over its limit until its next unit is freed; both are
 *   refused without asking Redis.
 */
export class ResilientLimiter implements ServingLimiter {
  readonly #master: RedisMaster;
  readonly #connection: Redis | Cluster;
  readonly #redis: RedisLimiter;
  readonly #fallback: LocalFallback;
  readonly #memory: DecisionMemory;
  readonly #sync: RedisSync;
  readonly #away: AwayReport;
  readonly #observer: LimiterObserver | undefined;
  readonly #started = Promise.withResolvers<void>();
  readonly #probeTimer: NodeJS.Timeout;
  #startTimer: NodeJS.Timeout | undefined;
  /** A subject that this master counts. */
  #probeSubject: RateLimitSubject = clientAddressSubject('probe');
  #isProbing = false;
  #failedProbes = 0;

  constructor(options: ResilientLimiterOptions, master: RedisMaster) {
    const { redis, timeoutMs, instances = 1, onStateChange, observer, nowMs } = options;
    this.#master = master;
    this.#connection = redis;
    this.#memory = master.memory;
    this.#away = new AwayReport({ connection: redis, master: master.name, onStateChange });
    this.#observer = observer;
    this.#redis = new RedisLimiter({ redis, timeoutMs, nowMs, observer });
    this.#fallback = new LocalFallback({ instances, nowMs: nowMs ?? Date.now, memory: master.memory, observer });
    const noteFailure = (subject: RateLimitSubject, error: unknown) => this.#noteFailure(subject, error);
    this.#sync = new RedisSync({
      redis: this.#redis,
      connection: redis,
      memory: master.memory,
      fallback: this.#fallback,
      noteFailure,
    });
    if (master.state !== 'connected') this.#redis.breaker.open();
    this.#probeTimer = setInterval(this.probe, PROBE_INTERVAL_MS).unref();
    if (master.state !== 'starting') return;
    const endStart = () => void this.#endStart(timeoutMs ?? CALL_TIMEOUT_MS); // never rejects
    this.#startTimer = setTimeout(endStart, START_MS).unref();
    redis.on('ready', this.probe);
    if (redis.status === 'ready') this.probe();
  }

  get started(): Promise<void> {
    return this.#started.promise;
  }

  get isDegraded(): boolean {
    return this.#redis.breaker.isOpen;
  }

  get awayReason(): string | undefined {
    return this.isDegraded ? this.#away.reason : undefined;
  }

  check(subject: RateLimitSubject, cost: number): RateLimitDecision | Promise<RateLimitDecision> {
    assertCost(subject, cost);
    const refusal = this.#memory.refusalOf(subject);
    if (refusal !== undefined) {
      this.#observer?.onDecision('memory');
      return refusal;
    }
    if (this.isDegraded) return this.#fallback.check(subject, cost);
    if (this.#fallback.hasUnsyncedUsage) void this.#sync.send(subject); // never rejects
    return this.#checkInRedis(subject, cost);
  }

  async peek(subject: RateLimitSubject): Promise<RateLimitSnapshot> {
    if (this.isDegraded) return this.#fallback.peek(subject);
    try {
      const snapshot = await this.#redis.peek(subject);
      const ban = bannedDecisionOf(snapshot);
      if (ban !== undefined) this.#remember(subject, ban, 0);
      else if (this.#memory.observe(subject, snapshot)) void this.#sync.restore(subject); // never rejects
      return snapshot;
    } catch (error) {
      this.#noteFailure(subject, error);
      return this.#fallback.peek(subject);
    }
  }

  recall(subject: RateLimitSubject): RateLimitRecall {
    return this.#memory.refusalOf(subject) ?? (this.isDegraded ? this.#fallback : this.#memory).recall(subject);
  }

  async debit(subject: RateLimitSubject, use: RateLimitUse): Promise<void> {
    this.#fallback.record(subject, use);
    if (!this.isDegraded) await this.#sync.send(subject);
  }

  close(): void {
    clearInterval(this.#probeTimer);
    clearTimeout(this.#startTimer);
    this.#connection.off('ready', this.probe);
    this.#away.close();
    this.#started.resolve();
  }

  /** Tries whether Redis is back, if it is away. */
  readonly probe = (): void => {
    if (this.isDegraded && !this.#isProbing && this.#master.canProbe()) void this.#probe(); // never rejects
  };

  async #checkInRedis(subject: RateLimitSubject, cost: number): Promise<RateLimitDecision> {
    const sentAtMs = this.#redis.nowMs;
    try {
      const decision = await this.#redis.check(subject, cost);
      this.#observer?.onDecision('redis');
      this.#reportBan(subject, decision);
      this.#remember(subject, decision, cost);
      return decision;
    } catch (error) {
      return this.#fallBack(subject, cost, this.#noteFailure(subject, error), sentAtMs);
    }
  }

  #fallBack(
    subject: RateLimitSubject,
    cost: number,
    { mayHaveRun, lateDecision }: RedisUnavailableError,
    sentAtMs: number,
  ): RateLimitDecision {
    if (!mayHaveRun) return this.#fallback.check(subject, cost);
    const decision = this.#fallback.decide(subject, cost);
    if (lateDecision === undefined) this.#sync.keepAdmitted(subject, cost, { decision, late: 'unknown', sentAtMs });
    void lateDecision?.then((late) => {
      if (typeof late !== 'string') this.#reportBan(subject, late);
      this.#sync.keepAdmitted(subject, cost, { decision, late, sentAtMs });
    });
    return decision;
  }

  #reportBan(subject: RateLimitSubject, decision: RateLimitDecision): void {
    if (decision.outcome !== 'api_key_banned' || !decision.isNew) return;
    this.#observer?.onBan(banOf(subject, decision));
  }

  #remember(subject: RateLimitSubject, decision: RateLimitDecision, cost: number): void {
    const lesson = this.#memory.remember(subject, decision, cost, this.#redis.clockOffsetMs);
    if (lesson === 'nothing new') return;
    if (lesson === 'Redis forgot') {
      void this.#sync.restore(subject); // never rejects
    } else if (decision.outcome === 'api_key_banned') {
      this.#sync.noteBan(subject, decision.bannedUntilMs);
    }
  }

  #noteFailure(subject: RateLimitSubject, error: unknown): RedisUnavailableError {
    if (!(error instanceof RedisUnavailableError)) throw error;
    this.#probeSubject = subject;
    this.#away.note(error);
    if (this.isDegraded) this.#away.report(error.message);
    return error;
  }

  async #probe(): Promise<void> {
    this.#isProbing = true;
    await this.#redis.debit(this.#probeSubject, NO_USE).then(this.#comeBack, this.#renewConnection);
    this.#isProbing = false;
  }

  readonly #renewConnection = (error: unknown): void => {
    if (error instanceof RedisUnavailableError) this.#away.note(error);
    this.#failedProbes += 1;
    if (this.#connection instanceof Cluster) this.#connection.refreshSlotsCache();
    else if (this.#failedProbes % SILENT_PROBES_MAX === 0 && ['ready', 'connect'].includes(this.#connection.status)) {
      this.#connection.disconnect(true);
    }
  };

  readonly #comeBack = (): void => {
    this.#redis.breaker.close();
    this.#failedProbes = 0;
    this.#started.resolve();
    this.#away.end();
    void this.#sync.sendAll(() => this.isDegraded); // never rejects
  };

  /**
   * Probes once more, and then reports that Redis is away. Where this process itself was held up, the response may still
   * have to be read, step by step of the event loop: so steps are counted, and not the time.
   */
  async #endStart(timeoutMs: number): Promise<void> {
    this.probe();
    for (let step = 0; step < timeoutMs / START_STEP_MS && this.isDegraded; step++) {
      await sleep(START_STEP_MS, undefined, { ref: false });
    }
    if (this.isDegraded) this.#away.report(`no response within ${START_MS} ms of the start`);
    this.#started.resolve();
  }
}
