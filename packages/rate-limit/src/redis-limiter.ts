import { readFileSync } from 'node:fs';
import { Cluster, type Redis } from 'ioredis';
import type { CircuitBreaker } from './circuit-breaker.ts';
import { createBannedDecision, createRefusedDecision, statusOf, type WindowUse } from './decision.ts';
import type { LimiterObserver, RateLimitDecision, RateLimitSnapshot, WindowName } from './rate-limiter.ts';
import { refusalsMaxOf, type Subject } from './subject.ts';

export interface RedisLimiterOptions {
  /** A connection that sends a command at once or fails, and never sends one twice: see `connectRedis`. */
  readonly redis: Redis | Cluster;
  /** Replaces the clock of Redis in tests, in milliseconds since the epoch. */
  readonly nowMs?: (() => number) | undefined;
  /** Learns how each call of the script ended. */
  readonly breaker?: Pick<CircuitBreaker, 'succeeded' | 'failed'>;
  readonly observer?: Pick<LimiterObserver, 'onRedisCall'> | undefined;
}

/** The operations of limiter.lua; see there. */
export type Operation = 'decide' | 'read' | 'lift';

interface Call {
  readonly operation: Operation;
  readonly subject: Subject;
  /** Of a request to decide on, in units. */
  readonly cost: number;
  readonly resolve: (row: Row) => void;
  readonly reject: (error: unknown) => void;
}

/** What limiter.lua returns for a call; see there. */
export type Row = [
  outcome: 'status' | 'admitted' | 'refused' | 'banned' | 'newly banned',
  atMs: number,
  minute: WindowUse,
  day: WindowUse,
  standing: [refusals: number, level: number, bannedUntilMs: number],
  refusal?: [window: WindowName | 'none', releaseAtMs: number, retryAtMs: number],
];

type ScriptedRedis = (Redis | Cluster) & {
  rateLimit(keyCount: number, ...parameters: (string | number)[]): Promise<Row[]>;
};

const SCRIPT = readFileSync(new URL('./limiter.lua', import.meta.url), 'utf8');
/** The maximum per call of the script: more would keep other users of Redis waiting for some milliseconds. */
const CALLS_MAX = 128;

/**
 * The key that holds the state of a subject.
 *
 * @internal exported for tests
 */
export const stateKeyOf = (subjectName: string): string => `limits:of:${subjectName}`;

/**
 * Counts in Redis, by its clock. Calls of one tick share a call of the script. A Redis Cluster refuses scripts with keys in
 * several slots; there, only calls for one subject share one.
 *
 * Each operation rejects if Redis fails or does not respond in time; it may have run nevertheless.
 */
export class RedisLimiter {
  readonly #redis: ScriptedRedis;
  readonly #options: RedisLimiterOptions;
  /** The calls of this tick. */
  #waiting: Call[] = [];

  constructor(options: RedisLimiterOptions) {
    const { redis } = options;
    redis.defineCommand('rateLimit', { lua: SCRIPT });
    this.#redis = redis as ScriptedRedis; // it has the command from here on
    this.#options = options;
  }

  /** Admits a request, and counts its cost; or refuses it, and counts the refusal. */
  async check(subject: Subject, cost: number): Promise<RateLimitDecision> {
    return decisionOf(await this.#call('decide', subject, cost), subject);
  }

  /** Reads the status. Counts nothing. */
  async peek(subject: Subject): Promise<RateLimitSnapshot> {
    return snapshotOf(await this.#call('read', subject), subject);
  }

  /** Ends a ban, and drops the refusals. */
  async lift(subject: Subject): Promise<void> {
    await this.#call('lift', subject);
  }

  #call(operation: Operation, subject: Subject, cost = 0): Promise<Row> {
    const { promise, ...settle } = Promise.withResolvers<Row>();
    if (this.#waiting.length === 0) setImmediate(() => this.#sendAll()); // after all input of this tick was read
    this.#waiting.push({ operation, subject, cost, ...settle });
    return promise;
  }

  #sendAll(): void {
    const calls = this.#waiting;
    this.#waiting = [];
    const groups =
      this.#redis instanceof Cluster ? Map.groupBy(calls, ({ subject }) => subject.name).values() : [calls];
    for (const group of groups) {
      while (group.length > 0) void this.#send(group.splice(0, CALLS_MAX));
    }
  }

  /** Sends calls that share a call of the script. Never rejects. */
  async #send(calls: readonly Call[]): Promise<void> {
    const { nowMs, breaker, observer } = this.#options;
    const keys = calls.map(({ subject }) => stateKeyOf(subject.name));
    const values = calls.flatMap(({ operation, subject, cost }) => {
      return [operation, subject.perMinute, subject.perDay ?? '', cost, refusalsMaxOf(subject) ?? ''];
    });
    const sentAtMs = performance.now();
    try {
      const rows = await this.#redis.rateLimit(keys.length, ...keys, nowMs?.() ?? '', ...values);
      if (!Array.isArray(rows) || rows.length !== calls.length) throw new Error('Redis sent an invalid reply');
      breaker?.succeeded();
      for (const [i, { resolve }] of calls.entries()) resolve(rows[i] as Row); // there is one for each call
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error('Redis failed', { cause });
      breaker?.failed(error);
      for (const { reject } of calls) reject(error);
    } finally {
      observer?.onRedisCall(performance.now() - sentAtMs);
    }
  }
}

/** @internal exported for tests */
export function snapshotOf(row: Row, subject: Subject): RateLimitSnapshot {
  const [, atMs, minute, day, [refusals, level, untilMs]] = row;
  const ban = untilMs > atMs ? { untilMs, level } : undefined;
  return { ...statusOf(subject, atMs, minute, day), refusals, ban };
}

/** @internal exported for tests */
export function decisionOf(row: Row, subject: Subject): RateLimitDecision {
  const [outcome, atMs, minute, day, [, level, untilMs], refusal = ['none', atMs, atMs]] = row;
  const [window, releaseAtMs, retryAtMs] = refusal;
  const status = statusOf(subject, atMs, minute, day);
  if (outcome === 'admitted') return { outcome, ...status };
  if (outcome === 'refused') return createRefusedDecision(status, { window, releaseAtMs, retryAtMs });
  return createBannedDecision(status, { untilMs, level }, { window, releaseAtMs }, outcome === 'newly banned');
}
