import { ERROR_CATALOGUE, type ErrorCode } from '@petstore/api';
import { PLAN_NAMES } from '@petstore/domain';
import type { DecisionPlace, RateLimitRefusal } from '@petstore/rate-limit';
import type {
  CountedDecision,
  CutReason,
  DecisionMetrics,
  LimitedCaller,
  RequestMetrics,
} from '../http/app-options.ts';

// What is on the path of every request only adds to numbers. prom-client would build and hash an object of labels for
// each observation. The text is made at a scrape, elsewhere.

/** Upper bounds of the buckets, in seconds. */
const REQUEST_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
/** A call of Redis is given up after 0.1 s. */
const CALL_BOUNDS = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1] as const;

/** How many keys have a series of their own for each deprecated operation. */
const KEYS_MAX = 1_000;
/** The label of all further keys. No key id is so short. */
const OTHER_KEYS = 'other';

/** How long things took, by buckets. */
export class DurationHistogram {
  /** Upper bounds of the buckets, in seconds, ascending. */
  readonly bounds: readonly number[];
  /** Not cumulative; the last one is for what is above all bounds. */
  readonly counts: number[];
  sumSeconds = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(durationSeconds: number): void {
    let bucket = 0;
    while (durationSeconds > (this.bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sumSeconds += durationSeconds;
  }
}

/** Each operation has series of these from its start, so that the first such response is seen as a rise. */
const FAILURE_STATUSES = [500, 503];

/** Counts served requests by operation and status, failures by their codes, and the use of what is deprecated by key. */
export class RequestCounts implements RequestMetrics {
  /** By operation and status. */
  readonly durations = new Map<string, Map<number, DurationHistogram>>();
  /** By operation and id of the key. */
  readonly deprecatedUse = new Map<string, Map<string, number>>();
  readonly errors = new Map(Object.keys(ERROR_CATALOGUE).map((code) => [code, 0]));
  readonly cuts: Record<CutReason, number> = { failed: 0, slow_reader: 0 };

  /** @param operations which are requested often enough that the absence of their failures is to be seen */
  constructor(operations: Iterable<string> = []) {
    for (const operation of operations) {
      for (const status of FAILURE_STATUSES) this.#durationsOf(operation, status);
    }
  }

  observeRequest(operation: string, status: number, durationSeconds: number): void {
    this.#durationsOf(operation, status).observe(durationSeconds);
  }

  countError(code: ErrorCode): void {
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
  }

  countCut(reason: CutReason): void {
    this.cuts[reason]++;
  }

  #durationsOf(operation: string, status: number): DurationHistogram {
    let byStatus = this.durations.get(operation);
    if (byStatus === undefined) {
      byStatus = new Map();
      this.durations.set(operation, byStatus);
    }
    let durations = byStatus.get(status);
    if (durations === undefined) {
      durations = new DurationHistogram(REQUEST_BOUNDS);
      byStatus.set(status, durations);
    }
    return durations;
  }

  observeDeprecatedUse(operation: string, keyId = ''): void {
    let byKey = this.deprecatedUse.get(operation);
    if (byKey === undefined) {
      byKey = new Map();
      this.deprecatedUse.set(operation, byKey);
    }
    const key = keyId === '' || byKey.has(keyId) || byKey.size < KEYS_MAX ? keyId : OTHER_KEYS;
    byKey.set(key, (byKey.get(key) ?? 0) + 1);
  }
}

export interface DecisionCounts {
  admitted: number;
  exceededMinute: number;
  exceededDay: number;
  banned: number;
}

/** What is known elsewhere, and read at a scrape. */
export interface LimitSources {
  bannedKeys(): number;
  degradedSeconds(): number;
}

const noDecisions = (): DecisionCounts => ({ admitted: 0, exceededMinute: 0, exceededDay: 0, banned: 0 });

/** Counts what limits decide, where, and what that asks of Redis. */
export class LimitCounts implements DecisionMetrics {
  readonly decisions = Object.fromEntries(
    [...PLAN_NAMES, 'address'].map((caller) => [caller, noDecisions()]),
  ) as Readonly<Record<LimitedCaller, DecisionCounts>>; // exactly these
  readonly checks: Record<DecisionPlace, number> = { redis: 0, process: 0, memory: 0 };
  readonly redisCalls = new DurationHistogram(CALL_BOUNDS);
  /** By level. */
  readonly bansSet = new Map<number, number>([1, 2, 3, 4].map((level) => [level, 0]));
  bansLifted = 0;
  /** Set where there is something to read. */
  sources: LimitSources = { bannedKeys: () => 0, degradedSeconds: () => 0 };

  countDecision(caller: LimitedCaller, decision: CountedDecision): void {
    const counts = this.decisions[caller];
    switch (decision.outcome) {
      case 'admitted':
        counts.admitted++;
        break;
      case 'rate_limit_exceeded':
        if (decision.limitingWindow === 'minute') counts.exceededMinute++;
        else counts.exceededDay++;
        break;
      case 'api_key_banned':
        counts.banned++;
        break;
      default:
        decision satisfies never;
    }
  }

  countRemembered(caller: LimitedCaller, refusal: RateLimitRefusal): void {
    this.countCheck('memory');
    this.countDecision(caller, refusal);
  }

  countCheck(place: DecisionPlace): void {
    this.checks[place]++;
  }

  observeRedisCall(durationMs: number): void {
    this.redisCalls.observe(durationMs / 1_000);
  }

  countBan(level: number): void {
    this.bansSet.set(level, (this.bansSet.get(level) ?? 0) + 1);
  }

  countLift(): void {
    this.bansLifted++;
  }
}
