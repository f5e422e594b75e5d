import { readFileSync } from 'node:fs';
import DataLoader from 'dataloader';
import { Cluster, type Redis } from 'ioredis';
import type { Use } from './algorithm.ts';
import { type Result, type Row, readRow } from './decision.ts';
import type { Subject } from './subject.ts';

export interface RedisLimiterOptions {
  /** A connection that sends a command at once or fails, and never sends one twice: see `connectRedis`. */
  readonly redis: Redis | Cluster;
  /** Replaces the clock of Redis in tests, in milliseconds since the epoch. */
  readonly nowMs?: (() => number) | undefined;
  /** Called after each call of the script, with its duration and, if it failed, the error. */
  readonly onCall?: (durationMs: number, error?: Error) => void;
}

/** The operations of limiter.lua; see there. */
export type Operation = 'decide' | 'debit' | 'read' | 'lift';

interface Call {
  readonly operation: Operation;
  readonly subject: Subject;
  readonly use: Use;
}

type ScriptedRedis = (Redis | Cluster) & {
  rateLimit(keyCount: number, ...parameters: (string | number)[]): Promise<Row[]>;
};

const SCRIPT = readFileSync(new URL('./limiter.lua', import.meta.url), 'utf8');
const NO_USE: Use = { minute: 0, day: 0 };
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
  /** The batch returns each result as a promise, so in a cluster no subject waits for the node of another. */
  readonly #batches: DataLoader<Call, { readonly result: Promise<Result> }>;

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

  /**
   * @param use the units that `decide` and `debit` count
   * @throws Error if Redis fails or does not respond in time; the call may have run nevertheless
   */
  async call(operation: Operation, subject: Subject, use: Use = NO_USE): Promise<Result> {
    const { result } = await this.#batches.load({ operation, subject, use });
    return result;
  }

  async #sendAll(calls: readonly Call[]): Promise<{ readonly result: Promise<Result> }[]> {
    const groups =
      this.#redis instanceof Cluster ? Map.groupBy(calls, ({ subject }) => subject.name).values() : [calls];
    const results = new Map<Call, Promise<Result>>();
    for (const group of groups) {
      const rows = this.#run(group);
      for (const [i, call] of group.entries()) {
        results.set(
          call,
          rows.then((all) => readRow(all[i] as Row)), // there is one for each key
        );
      }
    }
    return calls.map((call) => ({ result: results.get(call) as Promise<Result> })); // each is in a group
  }

  async #run(calls: readonly Call[]): Promise<Row[]> {
    const { nowMs, onCall } = this.#options;
    const keys = calls.map(({ subject }) => stateKeyOf(subject.name));
    const values = calls.flatMap(({ operation, subject: { perMinute, perDay = '' }, use }) => [
      operation,
      perMinute,
      perDay,
      use.minute,
      use.day,
    ]);
    const sentAtMs = performance.now();
    try {
      const rows = await this.#redis.rateLimit(keys.length, ...keys, nowMs?.() ?? '', ...values);
      if (!Array.isArray(rows) || rows.length !== calls.length) throw new Error('Redis sent an invalid reply');
      onCall?.(performance.now() - sentAtMs);
      return rows;
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error('Redis failed', { cause });
      onCall?.(performance.now() - sentAtMs, error);
      throw error;
    }
  }
}
