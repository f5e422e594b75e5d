import { readFileSync } from 'node:fs';
import DataLoader from 'dataloader';
import { Cluster, type Redis } from 'ioredis';
import type { Use } from './algorithm.ts';
import { createBannedDecision, createRefusedDecision, statusOf, type WindowUse } from './decision.ts';
import type { LimiterObserver, RateLimitDecision, RateLimitSnapshot, WindowName } from './rate-limiter.ts';
import type { RedisHealth } from './redis-health.ts';
import { refusalsMaxOf, type Subject } from './subject.ts';

export interface RedisLimiterOptions {
  /** A connection that sends a command at once or fails, and never sends one twice: see `connectRedis`. */
  readonly redis: Redis | Cluster;
  /** Replaces the clock of Redis in tests, in milliseconds since the epoch. */
  readonly nowMs?: (() => number) | undefined;
  /** Records how each call of the script ended. */
  readonly health?: RedisHealth;
  readonly observer?: Pick<LimiterObserver, 'onRedisCall'> | undefined;
}

/** The operations of limiter.lua; see there. */
export type Operation = 'decide' | 'debit' | 'read' | 'lift';

interface Call {
  readonly operation: Operation;
  readonly subject: Subject;
  /** As the operation takes them. */
  readonly numbers: readonly [number, number | undefined];
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
export const CALLS_MAX = 128;

/**
 * The key that holds the state of a subject.
 *
 * @internal exported for tests
 */
export const stateKeyOf = (subjectName: string): string => `limits:of:${subjectName}`;

/**
 * Counts in Redis, by its clock. Calls of one tick share a call of the script. A Redis Cluster refuses scripts with keys in
 * several slots; there, only calls for one subject share one.
 */
export class RedisLimiter {
  readonly #redis: ScriptedRedis;
  readonly #options: RedisLimiterOptions;
  /** The batch returns each row as a promise, so in a cluster no subject waits for the node of another. */
  readonly #batches: DataLoader<Call, { readonly row: Promise<Row> }>;

  constructor(options: RedisLimiterOptions) {
    const { redis } = options;
    redis.defineCommand('rateLimit', { lua: SCRIPT });
    this.#redis = redis as ScriptedRedis; // it has the command from here on
    this.#options = options;
    this.#batches = new DataLoader((calls) => this.#sendAll(calls), {
      cache: false,
      maxBatchSize: CALLS_MAX,
      batchScheduleFn: setImmediate, // after all input of this tick was read
    });
  }

  // Each operation rejects if Redis fails or does not respond in time; it may have run nevertheless.

  /** Admits a request, and counts its cost; or refuses it, and counts the refusal. */
  async check(subject: Subject, cost: number): Promise<RateLimitDecision> {
    return decisionOf(await this.#call('decide', subject, [cost, refusalsMaxOf(subject)]), subject);
  }

  /** Counts units, whether they fit or not. */
  async debit(subject: Subject, { minute, day }: Use): Promise<void> {
    await this.#call('debit', subject, [minute, day]);
  }

  /** Reads the status. Counts nothing. */
  async peek(subject: Subject): Promise<RateLimitSnapshot> {
    return snapshotOf(await this.#call('read', subject), subject);
  }

  /** Ends a ban, and drops the refusals. */
  async lift(subject: Subject): Promise<void> {
    await this.#call('lift', subject);
  }

  async #call(operation: Operation, subject: Subject, numbers: Call['numbers'] = [0, 0]): Promise<Row> {
    const { row } = await this.#batches.load({ operation, subject, numbers });
    return row;
  }

  async #sendAll(calls: readonly Call[]): Promise<{ readonly row: Promise<Row> }[]> {
    if (!(this.#redis instanceof Cluster)) return this.#send(calls);
    const groups = Map.groupBy(calls, ({ subject }) => subject.name);
    const sent = new Map([...groups.values()].flatMap((group) => this.#send(group).map((row, i) => [group[i], row])));
    return calls.map((call) => sent.get(call) as { readonly row: Promise<Row> }); // each is in a group
  }

  /** Sends calls that share a call of the script. */
  #send(calls: readonly Call[]): { readonly row: Promise<Row> }[] {
    const rows = this.#run(calls);
    return calls.map((_, i) => ({ row: rows.then((all) => all[i] as Row) })); // there is one for each call
  }

  async #run(calls: readonly Call[]): Promise<Row[]> {
    const { nowMs, health, observer } = this.#options;
    const keys = calls.map(({ subject }) => stateKeyOf(subject.name));
    const values = calls.flatMap(({ operation, subject, numbers: [a, b = ''] }) => {
      return [operation, subject.perMinute, subject.perDay ?? '', a, b];
    });
    const sentAtMs = performance.now();
    try {
      const rows = await this.#redis.rateLimit(keys.length, ...keys, nowMs?.() ?? '', ...values);
      if (!Array.isArray(rows) || rows.length !== calls.length) throw new Error('Redis sent an invalid reply');
      health?.succeeded();
      return rows;
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error('Redis failed', { cause });
      health?.failed(error);
      throw error;
    } finally {
      observer?.onRedisCall(performance.now() - sentAtMs);
    }
  }
}

/** @internal exported for tests */
export function snapshotOf(row: Row, subject: Subject): RateLimitSnapshot {
  const [, atMs, minute, day, [refusals, level, untilMs]] = row;
  const ban = untilMs > atMs ? { untilMs, level } : undefined;
  return { outcome: 'snapshot', ...statusOf(subject, atMs, minute, day), refusals, ban };
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
