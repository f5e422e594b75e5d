// The packages that import this one check its sources, too, and find the declaration only this way.
/// <reference path="./cluster-key-slot.d.ts" />
import { setTimeout as sleep } from 'node:timers/promises';
import calculateSlot from 'cluster-key-slot';
import { Cluster, type Redis } from 'ioredis';
import { noteBan } from './ban-index.ts';
import {
  assertCost,
  type BannedDecision,
  bannedDecisionOf,
  type ExceededDecision,
  type RateLimitDecision,
  type RateLimiter,
  type RateLimitSnapshot,
  type RateLimitUse,
  type RecalledStatus,
} from './rate-limiter.ts';
import { recallStanding } from './recall-standing.ts';
import { CALL_TIMEOUT_MS, RedisLimiter } from './redis-limiter.ts';
import { RefusalMemory } from './refusal-memory.ts';
import { type LimiterStateChange, Shard } from './shard.ts';
import type { RateLimitSubject } from './subject.ts';
import { SubjectMap } from './subject-map.ts';

export interface ResilientLimiterOptions {
  /** A connection of its own, as `connectRedis` makes it. Whoever made it closes it. */
  readonly redis: Redis | Cluster;
  /** How many instances share the limits while Redis is away, 1 or more. @default 1 */
  readonly instances?: number;
  /** How long a call may take before it is decided here, in milliseconds. @default 100 */
  readonly timeoutMs?: number;
  /** Called once per change, for one log line and one metric. Must not throw. */
  readonly onStateChange?: (change: LimiterStateChange) => void;
  /** Milliseconds since the epoch. @default Date.now */
  readonly nowMs?: () => number;
  /** A clock in the place of Redis' own, in milliseconds since the epoch: for tests. */
  readonly redisNowMs?: () => number;
}

const PROBE_INTERVAL_MS = 1_000;
/** A connection that answered none of so many probes is made anew: it may lead to a machine that is gone. */
const SILENT_PROBES_MAX = 3;
/** How long a start waits for Redis before the last try. */
const START_MS = 1_000;
/** The last try goes by turns of so long. */
const TURN_MS = 10;

/**
 * The limiter to serve with. Counts in Redis, and in the process while Redis is away: no request fails because of it,
 * and none waits for longer than a call may take, 100 ms.
 *
 * - A breaker opens after 5 failed calls in a row, or when half of at least 20 within a second have failed. Redis is
 *   then tried once a second, and whenever a connection comes about. A call that fails before that is decided here, too.
 *   In a cluster each master has a breaker of its own.
 * - What was admitted here is debited in Redis on its return: before the next request of the same subject.
 * - Nothing is sent twice that may have run.
 * - A ban is remembered for up to 5 s, an address over its limit until the next unit is freed; both are answered without
 *   Redis.
 */
export class ResilientLimiter implements RateLimiter {
  readonly #redis: Redis | Cluster;
  readonly #limiter: RedisLimiter;
  readonly #options: ResilientLimiterOptions;
  readonly #nowMs: () => number;
  readonly #refusals = new RefusalMemory();
  readonly #lastSeen = new SubjectMap<RateLimitDecision>();
  readonly #shards = new Map<string, Shard>();
  /** The only one, or who stands in until the masters of a cluster are known. */
  readonly #firstShard: Shard;
  readonly #probeTimer: NodeJS.Timeout;
  readonly #startTimer: NodeJS.Timeout;
  #isClosed = false;
  readonly #started = Promise.withResolvers<void>();
  /** How far our clock is ahead of Redis'. */
  #aheadMs = 0;

  constructor(options: ResilientLimiterOptions) {
    const { redis, timeoutMs, redisNowMs, nowMs = Date.now } = options;
    this.#options = options;
    this.#nowMs = nowMs;
    this.#redis = redis;
    this.#limiter = new RedisLimiter({
      redis,
      observer: {
        answered: (subject, redisNowMs) => {
          this.#aheadMs = nowMs() - redisNowMs;
          this.#shardOf(subject).observe(subject, undefined);
        },
        failed: (subject, error) => this.#shardOf(subject).observe(subject, error),
        countedTwice: (subject, cost) => this.#shardOf(subject).forgive(subject, cost),
        debitLost: (subject, use) => this.#shardOf(subject).owe(subject, use),
      },
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(redisNowMs && { nowMs: redisNowMs }),
    });
    this.#firstShard = this.#shardNamed('redis');
    this.#firstShard.awaitConnection();
    this.#probeTimer = setInterval(this.#probeAway, PROBE_INTERVAL_MS).unref();
    this.#startTimer = setTimeout(() => void this.#endStart(), START_MS).unref(); // never rejects
    redis.on('ready', this.#probeAway);
    redis.on('+node', (node: Redis) => node.once('ready', this.#probeAway));
    if (redis.status === 'ready') this.#probeAway();
  }

  /**
   * Resolves when Redis was reached, or after a second and the time of a call without. Requests may come before: they
   * are debited later.
   */
  get started(): Promise<void> {
    return this.#started.promise;
  }

  /** Whether any Redis is away, so that some requests are counted in the process. */
  get isDegraded(): boolean {
    for (const shard of this.#shards.values()) if (shard.isAway) return true;
    return false;
  }

  check(subject: RateLimitSubject, cost: number): RateLimitDecision | Promise<RateLimitDecision> {
    assertCost(subject, cost);
    const refusal = this.#refusals.recall(subject, performance.now());
    if (refusal !== undefined) return refusal;
    const decision = this.#shardOf(subject).check(subject, cost);
    if (!(decision instanceof Promise)) this.#rememberAddress(subject, decision);
    return decision;
  }

  async peek(subject: RateLimitSubject): Promise<RateLimitSnapshot> {
    const standing = await this.#shardOf(subject).peek(subject);
    const ban = bannedDecisionOf(standing);
    if (ban !== undefined) this.#refusals.remember(subject, ban, performance.now());
    return standing;
  }

  recall(subject: RateLimitSubject): BannedDecision | ExceededDecision | RecalledStatus {
    const refusal = this.#refusals.recall(subject, performance.now());
    return refusal ?? recallStanding(this.#lastSeen.get(subject), subject, this.#nowMs() - this.#aheadMs);
  }

  debit(subject: RateLimitSubject, use: RateLimitUse): Promise<void> {
    return this.#shardOf(subject).debit(subject, use);
  }

  /** Ends the timers. The connection is left to whoever made it. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#probeTimer);
    clearTimeout(this.#startTimer);
    this.#redis.off('ready', this.#probeAway);
    this.#started.resolve();
  }

  readonly #probeAway = (): void => {
    for (const shard of this.#shards.values()) {
      if (shard.isAway && !(shard === this.#firstShard && this.#isConnecting())) shard.probe();
    }
  };

  /** Whether a cluster is not whole yet: requests that are sent too early would be counted here. */
  #isConnecting(): boolean {
    return this.#redis instanceof Cluster && this.#redis.nodes('master').some(({ status }) => status !== 'ready');
  }

  /**
   * Tries for as long as a call may take, and then says that Redis is away. Where this process itself was held up, what
   * Redis has sent since is still to be read, turn by turn of the event loop: so turns are counted, and not the time.
   */
  async #endStart(): Promise<void> {
    this.#probeAway();
    const turns = (this.#options.timeoutMs ?? CALL_TIMEOUT_MS) / TURN_MS;
    for (let turn = 0; turn < turns && this.#firstShard.isAway; turn++) await sleep(TURN_MS, undefined, { ref: false });
    if (this.#firstShard.isAway && !this.#isClosed)
      this.#firstShard.tellAway(`no answer within ${START_MS} ms of the start`);
    this.#started.resolve();
  }

  #shardOf({ storageKey }: RateLimitSubject): Shard {
    if (!(this.#redis instanceof Cluster)) return this.#firstShard;
    const master = this.#redis.slots[calculateSlot(storageKey)]?.[0];
    return master === undefined ? this.#firstShard : this.#shardNamed(master);
  }

  #shardNamed(name: string): Shard {
    const known = this.#shards.get(name);
    if (known !== undefined) return known;
    const { instances = 1, onStateChange } = this.#options;
    const shard = new Shard(name, {
      instances,
      nowMs: this.#nowMs,
      limiter: this.#limiter,
      lastSeen: (subject) => this.#recall(subject),
      learn: (subject, decision) => this.#learn(subject, decision),
      onProbeFailed: (timesInARow) => this.#mendConnection(timesInARow),
      onReturn: () => this.#started.resolve(),
      onStateChange: (change) => onStateChange?.(change),
    });
    this.#shards.set(name, shard);
    if (this.#redis instanceof Cluster && !isReady(this.#redis, name)) shard.awaitConnection();
    return shard;
  }

  #mendConnection(failedProbes: number): void {
    if (this.#redis instanceof Cluster) this.#redis.refreshSlotsCache();
    else if (failedProbes % SILENT_PROBES_MAX === 0 && ['ready', 'connect'].includes(this.#redis.status)) {
      this.#redis.disconnect(true);
    }
  }

  #learn(subject: RateLimitSubject, decision: RateLimitDecision): void {
    if (decision.outcome === 'api_key_banned') this.#learnBan(subject, decision);
    else this.#rememberAddress(subject, decision);
    this.#lastSeen.set(subject, decision);
  }

  /** What is told to one request of an address holds for all: it costs 1, whatever it asks for. */
  #rememberAddress(subject: RateLimitSubject, decision: RateLimitDecision): void {
    if (subject.type !== 'client-address' || decision.outcome !== 'rate_limit_exceeded') return;
    this.#refusals.remember(subject, decision, performance.now());
  }

  #learnBan(subject: RateLimitSubject, decision: BannedDecision): void {
    this.#refusals.remember(subject, decision, performance.now());
    const seen = this.#lastSeen.get(subject);
    if (seen?.outcome === 'api_key_banned' && seen.bannedUntilMs === decision.bannedUntilMs) return;
    const ban = { untilMs: decision.bannedUntilMs, nowMs: decision.atMs };
    noteBan(this.#redis, subject.storageKey, ban).catch(() => {
      // Whoever lists bans will not find it; it holds all the same.
    });
  }

  /** The last decision of Redis, by our clock. */
  #recall(subject: RateLimitSubject): RateLimitDecision | undefined {
    const seen = this.#lastSeen.get(subject);
    if (seen === undefined) return undefined;
    const atMs = seen.atMs + this.#aheadMs;
    return seen.outcome === 'api_key_banned'
      ? { ...seen, atMs, bannedUntilMs: seen.bannedUntilMs + this.#aheadMs }
      : { ...seen, atMs };
  }
}

const isReady = (cluster: Cluster, master: string): boolean =>
  cluster
    .nodes('master')
    .some(({ options: { host, port }, status }) => `${host}:${port}` === master && status === 'ready');
