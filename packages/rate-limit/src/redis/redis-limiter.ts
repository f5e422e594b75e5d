import { Cluster, type Redis } from 'ioredis';
import {
  type Ban,
  type LimiterObserver,
  type RateLimitDecision,
  type RateLimiter,
  type RateLimitSnapshot,
  type RateLimitUse,
  type WindowName,
  type WindowStatus,
  wholeSecondsUntil,
} from '../port.ts';
import type { ApiKeySubject, RateLimitSubject } from '../subject.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { defineScript, type ScriptedRedis } from './define-script.ts';
import { readSnapshot } from './read-snapshot.ts';
import {
  invalidReply,
  RedisUnavailableError,
  toUnavailableError,
  type WithoutReply,
} from './redis-unavailable-error.ts';
import { writeTogether } from './write-together.ts';

export interface RedisLimiterOptions {
  /** A connection that sends a command at once or fails, and never sends one twice: see `connectRedis`. */
  readonly redis: Redis | Cluster;
  /** How long a call may take, in milliseconds. @default 100 */
  readonly timeoutMs?: number | undefined;
  /** A clock in place of Redis' own, in milliseconds since the epoch: for tests. */
  readonly nowMs?: (() => number) | undefined;
  readonly observer?: Pick<LimiterObserver, 'onRedisCall'> | undefined;
}

/** A request that waits for the script call of its tick. */
interface Entry {
  readonly subject: RateLimitSubject;
  /** Check (key: k, address: a), debit (d, b), raise (r, c), peek (p, q), set a ban (s), pardon (l): see check.lua. */
  readonly mode: 'a' | 'b' | 'c' | 'd' | 'k' | 'l' | 'p' | 'q' | 'r' | 's';
  readonly cost: number;
  /** The limit per minute, or the level of a ban. */
  readonly perMinute: number;
  /** The limit per day, or what is debited to the day. */
  readonly perDay: number;
  /** Receives the reply and where in it its result begins. */
  readonly resolve: (reply: Buffer, offset: number) => void;
  readonly reject: (error: RedisUnavailableError) => void;
}

export const CALL_TIMEOUT_MS = 100;

/** The longest ban. */
const BAN_MAX_MS = 3_600_000;

/** A larger batch would hold up other users of Redis for longer than a millisecond. */
const BATCH_MAX = 128;

/** The layout of a reply of check.lua: the time, then the results. */
const TIME_BYTES = 8;
const RESULT_BYTES = 29;
/** 0 admitted, 1 and 2 exceeded, 3 and 4 banned, 5 and 6 banned by this request. */
const CODE_MAX = 6;
/** Beyond it there is no date. */
const TIME_MAX_MS = 8.64e15;

/**
 * Counts in Redis, by its clock. Requests of one tick share a script call, which halves the work of Redis and takes most
 * of it off this process. In a Redis Cluster, where a call may only name keys of one slot, those of one key share a call,
 * and the calls of one tick a write to each master.
 *
 * Calls reject with a {@link RedisUnavailableError}.
 */
export class RedisLimiter implements Omit<RateLimiter, 'recall'> {
  /** Records how calls end. Opening it stops none: callers look at it first. */
  readonly breaker = new CircuitBreaker();
  /** How far the clock of this process is ahead of Redis' clock, by the last reply. */
  clockOffsetMs = 0;
  readonly #redis: ScriptedRedis;
  readonly #timeoutMs: number;
  readonly #nowMs: (() => number) | undefined;
  readonly #observer: RedisLimiterOptions['observer'];
  readonly #flush = (): void => this.#sendAll();
  #waiting: Entry[] = [];

  constructor({ redis, timeoutMs = CALL_TIMEOUT_MS, nowMs, observer }: RedisLimiterOptions) {
    this.#redis = defineScript(redis);
    this.#timeoutMs = timeoutMs;
    this.#nowMs = nowMs;
    this.#observer = observer;
  }

  /** The time of Redis, as far as it is known here. */
  get nowMs(): number {
    return this.#nowMs?.() ?? Date.now() - this.clockOffsetMs;
  }

  /** @param cost must have passed `assertCost` */
  check(subject: RateLimitSubject, cost: number): Promise<RateLimitDecision> {
    const mode = subject.type === 'api-key' ? 'k' : 'a';
    const { perMinute, perDay = 0 } = subject;
    return new Promise((resolve, reject) => {
      const settle = (reply: Buffer, offset: number) => resolve(readDecision(reply, offset, subject));
      this.#enqueue({ subject, mode, cost, perMinute, perDay, resolve: settle, reject });
    });
  }

  /** Requests that are sent later for the same subject are decided later. */
  debit(subject: RateLimitSubject, { minute, day }: RateLimitUse): Promise<void> {
    const mode = subject.type === 'api-key' ? 'd' : 'b';
    return this.#request({ subject, mode, cost: minute, perMinute: subject.perMinute, perDay: day }, () => {});
  }

  /** Debits what is missing of a use. It may be sent again: what is there is not debited twice. */
  raise(subject: RateLimitSubject, { minute, day }: RateLimitUse): Promise<void> {
    const mode = subject.type === 'api-key' ? 'r' : 'c';
    return this.#request({ subject, mode, cost: minute, perMinute: subject.perMinute, perDay: day }, () => {});
  }

  /** Sets a ban that was decided on before, unless a longer one is in force. */
  restoreBan(subject: ApiKeySubject, { untilMs, level }: Ban): Promise<void> {
    const cost = Math.min(Math.max(0, Math.round(untilMs - this.nowMs)), BAN_MAX_MS);
    return this.#request({ subject, mode: 's', cost, perMinute: level, perDay: 0 }, () => {});
  }

  peek(subject: RateLimitSubject): Promise<RateLimitSnapshot> {
    const mode = subject.type === 'api-key' ? 'p' : 'q';
    const { perMinute, perDay = 0 } = subject;
    return this.#request({ subject, mode, cost: 1, perMinute, perDay }, readSnapshot);
  }

  /**
   * Drops refusals, level and ban of a key; what it has used stays.
   *
   * @returns whether the key was banned
   */
  pardon(subject: ApiKeySubject): Promise<boolean> {
    const readWasBanned = (reply: Buffer, offset: number) => reply.readUInt32LE(offset + 25) > 0;
    return this.#request({ subject, mode: 'l', cost: 0, perMinute: 0, perDay: 0 }, readWasBanned);
  }

  #request<Result>(
    request: Omit<Entry, 'resolve' | 'reject'>,
    read: (reply: Buffer, offset: number, subject: RateLimitSubject) => Result,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const settle = (reply: Buffer, offset: number) => resolve(read(reply, offset, request.subject));
      this.#enqueue({ ...request, resolve: settle, reject });
    });
  }

  #enqueue(entry: Entry): void {
    // After all input of this tick has been read: connections are read in callbacks of their own.
    if (this.#waiting.length === 0) setImmediate(this.#flush);
    this.#waiting.push(entry);
  }

  #sendAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    const redis = this.#redis;
    if (!(redis instanceof Cluster)) this.#sendInBatches(waiting);
    else {
      writeTogether(redis, () => {
        for (const entries of groupBySubject(waiting)) this.#sendInBatches(entries);
      });
    }
  }

  #sendInBatches(entries: readonly Entry[]): void {
    if (entries.length <= BATCH_MAX) this.#send(entries);
    else for (let i = 0; i < entries.length; i += BATCH_MAX) this.#send(entries.slice(i, i + BATCH_MAX));
  }

  #send(entries: readonly Entry[]): void {
    const groups = groupBySubject(entries);
    const batch = groups.length === 1 ? entries : groups.flat();
    let isWaiting = true;
    const sentAtMs = performance.now();
    /** What became of the call after it had timed out. */
    let late: PromiseWithResolvers<Buffer | WithoutReply> | undefined;
    const fail = (error: RedisUnavailableError): void => {
      isWaiting = false;
      this.breaker.recordFailure(performance.now());
      for (const [i, { subject, reject }] of batch.entries()) {
        const lateDecision = late?.promise.then((reply) =>
          typeof reply === 'string' ? reply : readDecision(reply, offsetOf(i), subject),
        );
        reject(
          lateDecision === undefined ? error : new RedisUnavailableError(error.message, { ...error, lateDecision }),
        );
      }
    };
    const timer = setTimeout(() => {
      // Where this process itself was held up, the reply may have been there for a long time: it is read before this runs.
      setImmediate(() => {
        if (!isWaiting) return;
        late = Promise.withResolvers();
        this.#observer?.onRedisCall(performance.now() - sentAtMs);
        fail(new RedisUnavailableError(`Redis did not respond within ${this.#timeoutMs} ms`, { mayHaveRun: true }));
      });
    }, this.#timeoutMs);
    const onError = (cause: unknown): void => {
      clearTimeout(timer);
      const error = toUnavailableError(cause);
      if (isWaiting) fail(error);
      else late?.resolve(error.mayHaveRun ? 'unknown' : 'not run');
    };
    const onReply = (value: unknown): void => {
      const reply = parseReply(value, batch.length);
      if (reply instanceof RedisUnavailableError) {
        onError(reply);
        return;
      }
      clearTimeout(timer);
      late?.resolve(reply);
      if (!isWaiting) return;
      isWaiting = false;
      const repliedAtMs = performance.now();
      this.breaker.recordSuccess(repliedAtMs);
      this.#observer?.onRedisCall(repliedAtMs - sentAtMs);
      if (this.#nowMs === undefined) this.clockOffsetMs = Date.now() - reply.readDoubleLE();
      for (const [i, { resolve }] of batch.entries()) resolve(reply, offsetOf(i));
    };
    this.#redis.rateLimitCheckBuffer(groups.length, this.#parametersOf(groups)).then(onReply, onError);
  }

  #parametersOf(groups: readonly (readonly Entry[])[]): (string | number)[] {
    const parameters: (string | number)[] = [];
    for (const [first] of groups) parameters.push(first?.subject.storageKey ?? '');
    parameters.push(this.#nowMs?.() ?? '');
    for (const group of groups) {
      parameters.push(group.length);
      for (const { mode, cost, perMinute, perDay } of group) parameters.push(mode, cost, perMinute, perDay);
    }
    return parameters;
  }
}

/** Requests for the same subject share its state, which is read and written once. */
function groupBySubject(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  return entries.length === 1 ? [entries] : [...Map.groupBy(entries, ({ subject }) => subject.storageKey).values()];
}

const offsetOf = (index: number): number => TIME_BYTES + index * RESULT_BYTES;

/** The reply of check.lua to so many requests, or why it cannot be one. */
function parseReply(reply: unknown, count: number): Buffer | RedisUnavailableError {
  if (!Buffer.isBuffer(reply)) return invalidReply('it is no string');
  const length = offsetOf(count);
  if (reply.length !== length) return invalidReply(`it has ${reply.length} bytes, and not ${length}`);
  const atMs = reply.readDoubleLE();
  if (!(Math.abs(atMs) <= TIME_MAX_MS)) return invalidReply(`it has the time ${atMs}`);
  for (let offset = TIME_BYTES; offset < length; offset += RESULT_BYTES) {
    const code = reply.readUInt8(offset);
    if (code > CODE_MAX) return invalidReply(`it has the outcome ${code}`);
  }
  return reply;
}

/**
 * Reads the result of a check from a reply of check.lua.
 *
 * @internal exported for its tests
 */
export function readDecision(reply: Buffer, offset: number, subject: RateLimitSubject): RateLimitDecision {
  const atMs = reply.readDoubleLE();
  const code = reply.readUInt8(offset);
  const minute = readWindow(reply, offset + 1, subject.perMinute, atMs);
  const day = subject.perDay === undefined ? undefined : readWindow(reply, offset + 9, subject.perDay, atMs);
  if (code === 0) return { outcome: 'admitted', atMs, minute, day };
  const limitingWindow: WindowName = code % 2 === 1 ? 'minute' : 'day';
  const releaseAtMs = atMs + reply.readUInt32LE(offset + 17);
  const retryOrLevel = reply.readUInt32LE(offset + 21);
  const retryAtMs = code <= 2 ? atMs + retryOrLevel : releaseAtMs;
  const retryAfterSeconds = wholeSecondsUntil(retryAtMs, atMs);
  const refusal = { atMs, minute, day, limitingWindow, releaseAtMs, retryAtMs, retryAfterSeconds };
  if (code <= 2) return { outcome: 'rate_limit_exceeded', ...refusal };
  const bannedUntilMs = atMs + reply.readUInt32LE(offset + 25);
  return { outcome: 'api_key_banned', ...refusal, bannedUntilMs, level: retryOrLevel, isNew: code > 4 };
}

const readWindow = (reply: Buffer, offset: number, limit: number, atMs: number): WindowStatus => ({
  limit,
  remaining: reply.readUInt32LE(offset),
  resetAtMs: atMs + reply.readUInt32LE(offset + 4),
});
