import type { Cluster, Redis } from 'ioredis';
import { assertCheckReply, readAnswer, readReplyTime, readStateReply } from './check-reply.ts';
import {
  assertCost,
  type RateLimitDecision,
  type RateLimiter,
  type RateLimitSnapshot,
  type RateLimitUse,
} from './rate-limiter.ts';
import { defineScripts, type ScriptedRedis } from './redis-scripts.ts';
import { RedisUnavailableError } from './redis-unavailable-error.ts';
import { decodeState } from './state-codec.ts';
import type { RateLimitSubject } from './subject.ts';
import { peekState } from './subject-state.ts';

export interface RedisLimiterOptions {
  /** A connection that sends a command at once or fails, and never sends one twice: see `connectRedis`. */
  readonly redis: Redis | Cluster;
  /** How long a call may take, in milliseconds. @default 100 */
  readonly timeoutMs?: number;
  /** A clock in the place of Redis' own, in milliseconds since the epoch: for tests. */
  readonly nowMs?: () => number;
  readonly observer?: RedisLimiterObserver;
}

/** Told once of each call, before whoever waits for it. */
export interface RedisLimiterObserver {
  /** @param redisNowMs the clock of Redis, in milliseconds since the epoch */
  answered(subject: RateLimitSubject, redisNowMs: number): void;
  failed(subject: RateLimitSubject, error: RedisUnavailableError): void;
  /** A request that was counted elsewhere when its call timed out has been counted in Redis after all. */
  countedTwice(subject: RateLimitSubject, cost: number): void;
  /** A debit that timed out has not run after all. */
  debitLost(subject: RateLimitSubject, use: RateLimitUse): void;
}

/** What waits to be sent. */
interface Call {
  readonly subject: RateLimitSubject;
  /** `k` and `a` check, `d` and `b` debit: see check.lua. */
  readonly mode: 'a' | 'b' | 'd' | 'k';
  readonly minuteCost: number;
  /** The limit per day, or what is debited to the day. */
  readonly dayParameter: number;
  readonly done: (decision: RateLimitDecision) => void;
  readonly failed: Failed;
  isCountedElsewhere: boolean;
}

/** Returns whether the request was then counted elsewhere. */
export type Failed = (error: RedisUnavailableError) => boolean;

/** How long a call may take where nobody says otherwise. */
export const CALL_TIMEOUT_MS = 100;

/** More would hold up other users of Redis for longer than a millisecond. */
const CALLS_MAX = 128;

/**
 * Counts in Redis, by its clock. Requests that came in together go out together: one script call decides on all of
 * them, which halves the work of Redis and takes most of it off this process. In a Redis Cluster, where a call may only
 * name keys of one slot, each goes by itself.
 */
export class RedisLimiter implements Omit<RateLimiter, 'recall'> {
  readonly #redis: ScriptedRedis;
  readonly #timeoutMs: number;
  readonly #nowMs: (() => number) | undefined;
  readonly #callsMax: number;
  readonly #observer: RedisLimiterObserver | undefined;
  readonly #flush = (): void => this.#sendAll();
  #waiting: Call[] = [];

  constructor({ redis, timeoutMs = CALL_TIMEOUT_MS, nowMs, observer }: RedisLimiterOptions) {
    this.#observer = observer;
    this.#redis = defineScripts(redis);
    this.#timeoutMs = timeoutMs;
    this.#nowMs = nowMs;
    this.#callsMax = redis.isCluster ? 1 : CALLS_MAX;
  }

  check(subject: RateLimitSubject, cost: number): Promise<RateLimitDecision> {
    assertCost(subject, cost);
    return new Promise((done, reject) => this.send(subject, cost, done, rejecting(reject)));
  }

  debit(subject: RateLimitSubject, use: RateLimitUse): Promise<void> {
    return new Promise((resolve, reject) => this.sendDebit(subject, use, resolve, rejecting(reject)));
  }

  peek(subject: RateLimitSubject): Promise<RateLimitSnapshot> {
    return new Promise((resolve, reject) => {
      this.#ask(subject, this.#redis.rateLimitReadBuffer(subject.storageKey), {
        read: readStateReply,
        done: ({ stored, redisNowMs }) => {
          this.#observer?.answered(subject, redisNowMs);
          const state = stored && decodeState(stored);
          resolve(peekState(state, subject, this.#nowMs?.() ?? redisNowMs));
        },
        failed: reject,
      });
    });
  }

  /** {@link check} by callbacks, of a cost that was checked: one promise less on the path of every request. */
  send(subject: RateLimitSubject, cost: number, done: (decision: RateLimitDecision) => void, failed: Failed): void {
    const mode = subject.type === 'api-key' ? 'k' : 'a';
    const dayParameter = subject.perDay ?? 0;
    this.#enqueue({ subject, mode, minuteCost: cost, dayParameter, done, failed, isCountedElsewhere: false });
  }

  /** {@link debit} by callbacks. What is sent later for the same subject is decided later. */
  sendDebit(subject: RateLimitSubject, { minute, day }: RateLimitUse, done: () => void, failed: Failed): void {
    const mode = subject.type === 'api-key' ? 'd' : 'b';
    this.#enqueue({ subject, mode, minuteCost: minute, dayParameter: day, done, failed, isCountedElsewhere: false });
  }

  #enqueue(call: Call): void {
    // Once all that the event loop has at hand was read, not in this very turn: each connection has a turn of its own.
    if (this.#waiting.length === 0) setImmediate(this.#flush);
    this.#waiting.push(call);
  }

  #sendAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    if (waiting.length <= this.#callsMax) this.#send(waiting);
    else for (let i = 0; i < waiting.length; i += this.#callsMax) this.#send(waiting.slice(i, i + this.#callsMax));
  }

  #send(calls: readonly Call[]): void {
    const [first] = calls;
    if (first === undefined) return;
    const parameters: (string | number)[] = [];
    for (const { subject } of calls) parameters.push(subject.storageKey);
    parameters.push(this.#nowMs?.() ?? '');
    for (const { mode, minuteCost, subject, dayParameter } of calls) {
      parameters.push(mode, minuteCost, subject.perMinute, dayParameter);
    }
    this.#ask(first.subject, this.#redis.rateLimitCheckBuffer(calls.length, parameters), {
      read: (reply) => assertCheckReply(reply, calls.length),
      done: (reply) => {
        this.#observer?.answered(first.subject, readReplyTime(reply));
        for (const [i, call] of calls.entries()) call.done(readAnswer(reply, i, call.subject));
      },
      failed: (error) => {
        for (const call of calls) call.isCountedElsewhere = call.failed(error);
      },
      late: (reply) => {
        for (const [i, call] of calls.entries()) this.#settleLate(call, reply && readAnswer(reply, i, call.subject));
      },
    });
  }

  /** @param decision left out where the call has not run */
  #settleLate(
    { subject, mode, minuteCost, dayParameter, isCountedElsewhere }: Call,
    decision?: RateLimitDecision,
  ): void {
    const isDebit = mode === 'b' || mode === 'd';
    if (isDebit) {
      if (decision === undefined) this.#observer?.debitLost(subject, { minute: minuteCost, day: dayParameter });
    } else if (isCountedElsewhere && decision?.outcome === 'admitted') {
      this.#observer?.countedTwice(subject, minuteCost);
    }
  }

  /** Waits for a reply, for as long as a call may take. */
  #ask<Answer>(
    subject: RateLimitSubject,
    reply: Promise<unknown>,
    { read, done, failed, late }: Listener<Answer>,
  ): void {
    let isWaiting = true;
    const fail = (error: RedisUnavailableError): void => {
      isWaiting = false;
      this.#observer?.failed(subject, error);
      failed(error);
    };
    const timer = setTimeout(() => {
      // Where this process itself was held up, the reply has been there for long: it is read before this.
      setImmediate(() => {
        if (isWaiting) fail(timeoutError(this.#timeoutMs));
      });
    }, this.#timeoutMs);
    const onError = (cause: unknown): void => {
      clearTimeout(timer);
      const error = redisError(cause);
      if (isWaiting) fail(error);
      else if (!error.mayHaveRun) late?.(undefined);
    };
    reply.then((value) => {
      let answer: Answer;
      try {
        answer = read(value);
      } catch (cause) {
        onError(cause);
        return;
      }
      clearTimeout(timer);
      if (!isWaiting) return late?.(answer);
      isWaiting = false;
      done(answer);
    }, onError);
  }
}

interface Listener<Answer> {
  /** @throws RedisUnavailableError where a reply is no answer */
  readonly read: (reply: unknown) => Answer;
  readonly done: (answer: Answer) => void;
  readonly failed: (error: RedisUnavailableError) => void;
  /** What became of a call that had failed for want of an answer in time: its answer, or nothing where it has not run. */
  readonly late?: (answer: Answer | undefined) => void;
}

const rejecting =
  (reject: (error: RedisUnavailableError) => void): Failed =>
  (error) => {
    reject(error);
    return false;
  };

const timeoutError = (timeoutMs: number) =>
  new RedisUnavailableError(`Redis did not answer within ${timeoutMs} ms`, true);

/** What Redis refuses, and what was never sent for want of a connection, has not run. */
function redisError(cause: unknown): RedisUnavailableError {
  if (cause instanceof RedisUnavailableError) return cause;
  if (!(cause instanceof Error)) return new RedisUnavailableError('Redis failed', true, cause);
  const mayHaveRun = cause.name !== 'ReplyError' && !cause.message.includes('enableOfflineQueue');
  return new RedisUnavailableError(`Redis failed: ${cause.message}`, mayHaveRun, cause);
}
