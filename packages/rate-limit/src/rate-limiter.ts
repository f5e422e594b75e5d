import type { Subject } from './subject.ts';

/** The two sliding windows that are enforced. */
export type WindowName = 'minute' | 'day';

/** The status of one window. */
export interface WindowStatus {
  /** The limit in force: requests in any span of the window's length. */
  readonly limit: number;
  /** Used units; more than the limit if it was lowered since. */
  readonly used: number;
  /** Exactly this many more units fit at this moment; never below 0. */
  readonly remaining: number;
  /** When the next unit is freed, in milliseconds since the epoch; the present moment if nothing is used. */
  readonly resetAtMs: number;
}

/** The status of a subject at one moment of the limiter's clock (Redis' clock, if Redis counts). */
export interface RateLimitStatus {
  /** That moment, in milliseconds since the epoch. */
  readonly atMs: number;
  readonly minute: WindowStatus;
  /** `undefined` if the subject has no daily limit. */
  readonly day: WindowStatus | undefined;
}

/** The cost was counted in every window. */
export interface AdmittedDecision extends RateLimitStatus {
  readonly outcome: 'admitted';
}

interface Refusal extends RateLimitStatus {
  /** Of the windows that refuse, the one that releases last; if only a ban refuses, the one with the lowest remaining. */
  readonly limitingWindow: WindowName;
  /** When this request would succeed if no others came, after any ban and in all windows; milliseconds since the epoch. */
  readonly releaseAtMs: number;
  /** When to come back, in milliseconds since the epoch: at the release, or later if others were asked to come then. */
  readonly retryAtMs: number;
  /** Whole seconds until the retry time, rounded up, at least 1. */
  readonly retryAfterSeconds: number;
}

/** The request does not fit; nothing was counted in its windows. */
export interface RefusedDecision extends Refusal {
  readonly outcome: 'refused';
}

/** The subject is banned, by this refusal (`isNew`) or by an earlier one; nothing was counted in its windows. */
export interface BannedDecision extends Refusal {
  readonly outcome: 'banned';
  /** When the ban ends, in milliseconds since the epoch. */
  readonly bannedUntilMs: number;
  /** From 1: bans of 1, 5, 15 and 60 minutes. */
  readonly level: number;
  /** Whether this refusal has set the ban. True once for each ban, over all servers. */
  readonly isNew: boolean;
}

export type RateLimitRefusal = RefusedDecision | BannedDecision;

/** The decision on a request. */
export type RateLimitDecision = AdmittedDecision | RateLimitRefusal;

/** A ban in force. */
export interface Ban {
  /** When it ends, in milliseconds since the epoch. */
  readonly untilMs: number;
  /** From 1: bans of 1, 5, 15 and 60 minutes. */
  readonly level: number;
}

/** A ban with its subject. */
export interface SubjectBan extends Ban {
  /** The name of the subject. */
  readonly subject: string;
}

/** The result of {@link RateLimiter.peek}. */
export interface RateLimitSnapshot extends RateLimitStatus {
  /** Refusals that count towards a ban at this moment. */
  readonly refusals: number;
  /** The ban in force. */
  readonly ban: Ban | undefined;
}

/** The last status that this process knows, brought to the present. It may lack units that were freed since. */
export interface LastKnownStatus extends RateLimitStatus {
  readonly outcome: 'last known';
}

/** Counts requests against the sliding windows of their subject. Never rejects, and never waits for long. */
export interface RateLimiter {
  /**
   * Decides whether to admit a request, and if so counts its cost in all windows at once.
   *
   * Returns the decision itself, not a promise, if it is known without asking Redis.
   *
   * @param cost units: 1, or the number of calls in a batch; must fit the limits at all (see `canEverFit`)
   * @throws RangeError if `cost` is not a whole number from 1 to the lowest limit of the subject
   */
  check(subject: Subject, cost: number): RateLimitDecision | Promise<RateLimitDecision>;

  /** Reads the status of a subject. Counts nothing. */
  peek(subject: Subject): Promise<RateLimitSnapshot>;

  /**
   * The outcome for any request of a subject, as far as this process knows without asking Redis: the refusal in force (by a
   * ban, or of an unknown caller over its limit), otherwise the last status. Counts nothing.
   */
  lastKnown(subject: Subject): RateLimitRefusal | LastKnownStatus;
}

/** Where a check was decided: in Redis, in this process, or by a remembered refusal that is still in force. */
export type DecisionPlace = (typeof DECISION_PLACES)[number];
export const DECISION_PLACES = ['redis', 'process', 'memory'] as const;

/** Observes a limiter, for metrics and logs. It is called while requests wait, so it must be cheap, and must not throw. */
export interface LimiterObserver {
  /** A check was decided. */
  onDecision(place: DecisionPlace): void;
  /** A subject was banned. Called once for each ban, over all processes that count in the same Redis. */
  onBan(ban: SubjectBan): void;
  /** Redis has replied to a call, or the call was given up. */
  onRedisCall(durationMs: number): void;
}
