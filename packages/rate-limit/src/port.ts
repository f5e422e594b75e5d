import type { ApiKeyId } from '@petstore/domain';
import { apiKeyIdOf, type RateLimitSubject } from './subject.ts';

/** The two sliding windows that are enforced. */
export type WindowName = 'minute' | 'day';

/** The status of one window. */
export interface WindowStatus {
  /** The limit in force: requests in any span of the window's length. */
  readonly limit: number;
  /** Exactly this many more fit at this moment; never below 0. */
  readonly remaining: number;
  /** When the next unit is freed, in milliseconds since the epoch; the present moment where nothing is used. */
  readonly resetAtMs: number;
}

/** The status of a subject at one moment of the limiter's clock (Redis' clock, where Redis counts). */
export interface RateLimitStatus {
  /** The moment this is true at, in milliseconds since the epoch. */
  readonly atMs: number;
  readonly minute: WindowStatus;
  /** `undefined` where the subject has no daily limit: a client address. */
  readonly day: WindowStatus | undefined;
}

/** The cost was logged in every window. */
export interface AdmittedDecision extends RateLimitStatus {
  readonly outcome: 'admitted';
}

interface RefusedDecision extends RateLimitStatus {
  /** Of the windows that refuse, the one that releases last; where only a ban does, the one with the lowest remaining. */
  readonly limitingWindow: WindowName;
  /** When this request would succeed if nothing else came, in milliseconds since the epoch: ban end and windows. */
  readonly releaseAtMs: number;
  /** When to come back, in milliseconds since the epoch: at the release or up to a minute later, so that a pool does not
   * return all at once. Retry-After and Reset say so. */
  readonly retryAtMs: number;
  /** Whole seconds until then, rounded up, at least 1. */
  readonly retryAfterSeconds: number;
}

/** The request does not fit; nothing was logged. */
export interface ExceededDecision extends RefusedDecision {
  readonly outcome: 'rate_limit_exceeded';
}

/** The key is banned; nothing was logged and the ban did not grow. */
export interface BannedDecision extends RefusedDecision {
  readonly outcome: 'api_key_banned';
  /** When the ban ends, in milliseconds since the epoch. */
  readonly bannedUntilMs: number;
  /** From 1: bans of 1, 5, 15 and 60 minutes. */
  readonly level: number;
  /** Whether this refusal has set the ban. True once for each ban, over all servers. */
  readonly isNew: boolean;
}

/** Becomes a 429, whose error code is the outcome. */
export type RateLimitRefusal = ExceededDecision | BannedDecision;

/** The result of a check. */
export type RateLimitDecision = AdmittedDecision | RateLimitRefusal;

/** The result of {@link RateLimiter.peek}. */
export interface RateLimitSnapshot extends RateLimitStatus {
  readonly outcome: 'snapshot';
  /** Units in each window; more than its limit where that was lowered since. */
  readonly used: { readonly minute: number; readonly day: number | undefined };
  /** Refusals that count towards a ban at this moment. */
  readonly strikes: number;
  /** The ban in force. */
  readonly ban: Ban | undefined;
}

/** A ban in force. */
export interface Ban {
  /** When it ends, in milliseconds since the epoch. */
  readonly untilMs: number;
  /** From 1: bans of 1, 5, 15 and 60 minutes. */
  readonly level: number;
}

/** The ban of one key. */
export interface KeyBan extends Ban {
  readonly keyId: ApiKeyId;
}

/** The last status that this process knows, brought to the present: units freed since may be missing. */
export interface RecalledStatus extends RateLimitStatus {
  readonly outcome: 'recalled';
}

/** The result of {@link RateLimiter.recall}. */
export type RateLimitRecall = RateLimitRefusal | RecalledStatus;

/** Requests admitted elsewhere, to be logged after the fact. */
export interface RateLimitUse {
  /** Units that lie within the last 60 seconds; at most `day`. */
  readonly minute: number;
  /** Units that lie within the last 24 hours. */
  readonly day: number;
}

/**
 * Counts requests against the sliding windows of their subject. One call is one atomic step, and at most one round trip.
 *
 * The limiters that this package exports never reject, and never wait for long.
 */
export interface RateLimiter {
  /**
   * Decides whether a request may go on, and if so logs its cost in all windows at once; a refusal logs nothing.
   *
   * Returns the decision itself, not a promise, where it is known without asking Redis.
   *
   * @param cost units: 1, or the number of calls in a batch; must fit the limits at all (see {@link canEverFit})
   * @throws RangeError when `cost` is not a whole number from 1 to the lowest limit of the subject
   */
  check(subject: RateLimitSubject, cost: number): RateLimitDecision | Promise<RateLimitDecision>;

  /** Reads the status of a subject. Counts nothing and is no strike. */
  peek(subject: RateLimitSubject): Promise<RateLimitSnapshot>;

  /**
   * Reads from memory, without a round trip, what any request of a subject meets: the refusal in force (the ban of a
   * key, an address over its limit), else the last known status. Counts nothing.
   */
  recall(subject: RateLimitSubject): RateLimitRecall;

  /** Logs requests that were admitted elsewhere, whether they fit or not. */
  debit(subject: RateLimitSubject, use: RateLimitUse): Promise<void>;
}

/** The limiter to serve with. */
export interface ServingLimiter extends RateLimiter {
  /**
   * Resolves when Redis was reached, or was not within a second and the time of a call. Requests may come before: they
   * are debited later.
   */
  readonly started: Promise<void>;
  /** Whether any Redis is away, so that some requests are counted in the process. */
  readonly isDegraded: boolean;
  /** Why Redis is away, by the last failure: one short line without a secret. `undefined` where it is not away. */
  readonly awayReason: string | undefined;
  /** Ends the timers. The connection is left to its owner. */
  close(): void;
}

/** Redis went away, or came back. */
export interface LimiterStateChange {
  /** Where requests are counted from now on. */
  readonly countedIn: 'redis' | 'process';
  /** Which Redis: a node's `host:port` in a cluster, else `redis`. */
  readonly shard: string;
  /** What Redis or the connection said, for a log. */
  readonly reason: string;
}

/** Where a check was decided: in Redis, in this process, or by a refusal that was remembered to be in force. */
export type DecisionPlace = 'redis' | 'process' | 'memory';

/** Observes a limiter, for metrics and logs. It is called while requests wait, so it must be cheap, and must not throw. */
export interface LimiterObserver {
  /** A check was decided. */
  onDecision(place: DecisionPlace): void;
  /** A key was banned. Called once for each ban, over all processes that count in the same Redis. */
  onBan(ban: KeyBan): void;
  /** Redis has replied to a call of the script, or the call was given up. */
  onRedisCall(durationMs: number): void;
}

/** The ban that a refusal of a key means. */
export const banOf = ({ storageKey }: RateLimitSubject, { bannedUntilMs, level }: BannedDecision): KeyBan => ({
  keyId: apiKeyIdOf(storageKey), // addresses are never banned
  untilMs: bannedUntilMs,
  level,
});

/** Whole seconds, rounded up: at least 1 for a moment that lies ahead. */
export const wholeSecondsUntil = (atMs: number, nowMs: number): number => Math.ceil((atMs - nowMs) / 1000);
