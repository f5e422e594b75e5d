import { PLAN_NAMES } from '@petstore/domain';
import type { DecisionPlace, RateLimitRefusal } from '@petstore/rate-limit';
import type { CountedDecision, DecisionMetrics, LimitedCaller } from '../http/app-options.ts';
import { DurationHistogram, renderMetric } from './exposition.ts';

/** Upper bounds of the buckets, in seconds. A call is given up after 0.1 s. */
const CALL_BOUNDS = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1] as const;

const DECISIONS = {
  name: 'petstore_rate_limit_decisions_total',
  type: 'counter',
  help: 'Requests that a limit decided on, by the plan of the key (address: without a valid key), the window that refused and the outcome.',
} as const;
const CHECKS = {
  name: 'petstore_rate_limit_checks_total',
  type: 'counter',
  help: 'Checks of limits by where they were decided: in Redis, in this process, or by a refusal that it remembers.',
} as const;
const BANS_SET = {
  name: 'petstore_bans_set_total',
  type: 'counter',
  help: 'Bans of keys that requests to this server have set, by level.',
} as const;
const BANS_LIFTED = {
  name: 'petstore_bans_lifted_total',
  type: 'counter',
  help: 'Bans that operators have lifted; each is counted by one server.',
} as const;
const KEYS_BANNED = {
  name: 'petstore_keys_banned',
  type: 'gauge',
  help: 'Keys that are banned, the same in all servers that share a Redis; read every 5 s.',
} as const;
const DEGRADED_SECONDS = {
  name: 'petstore_limits_degraded_seconds_total',
  type: 'counter',
  help: 'How long a Redis was away, so that limits were counted in this process.',
} as const;
const REDIS_CALLS = 'petstore_rate_limit_redis_call_duration_seconds';

/** What is known elsewhere, and read at a scrape. */
export interface LimitSources {
  bannedKeys(): number;
  degradedSeconds(): number;
}

interface DecisionCounts {
  admitted: number;
  exceededMinute: number;
  exceededDay: number;
  banned: number;
}

/** The labels of {@link DecisionCounts}. A ban refuses whatever the windows hold. */
const DECISION_LABELS = {
  admitted: 'window="none",outcome="admitted"',
  exceededMinute: 'window="minute",outcome="rate_limit_exceeded"',
  exceededDay: 'window="day",outcome="rate_limit_exceeded"',
  banned: 'window="none",outcome="api_key_banned"',
} as const satisfies Record<keyof DecisionCounts, string>;

const CALLERS = [...PLAN_NAMES, 'address'] as const satisfies readonly LimitedCaller[];
const PLACES = ['redis', 'process', 'memory'] as const satisfies readonly DecisionPlace[];
const LEVELS = [1, 2, 3, 4] as const;

const noDecisions = (): DecisionCounts => ({ admitted: 0, exceededMinute: 0, exceededDay: 0, banned: 0 });

/**
 * Counts what limits decide. Its methods are on the path of every request, so they only add to numbers that exist; the
 * text is made at a scrape. All series exist from the start, so that the first refusal is an increase.
 */
export class LimitMetrics implements DecisionMetrics {
  readonly #decisions: Readonly<Record<LimitedCaller, DecisionCounts>> = {
    free: noDecisions(),
    pro: noDecisions(),
    business: noDecisions(),
    enterprise: noDecisions(),
    address: noDecisions(),
  };
  readonly #checks: Record<DecisionPlace, number> = { redis: 0, process: 0, memory: 0 };
  readonly #redisCalls = new DurationHistogram(CALL_BOUNDS);
  /** By level. */
  readonly #bansSet = new Map<number, number>(LEVELS.map((level) => [level, 0]));
  #bansLifted = 0;
  #sources: LimitSources = { bannedKeys: () => 0, degradedSeconds: () => 0 };

  /** Called once, when there is something to read. */
  observe(sources: LimitSources): void {
    this.#sources = sources;
  }

  countDecision(caller: LimitedCaller, decision: CountedDecision): void {
    const counts = this.#decisions[caller];
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
    this.#checks[place]++;
  }

  observeRedisCall(durationMs: number): void {
    this.#redisCalls.observe(durationMs / 1_000);
  }

  countBan(level: number): void {
    this.#bansSet.set(level, (this.#bansSet.get(level) ?? 0) + 1);
  }

  countLift(): void {
    this.#bansLifted++;
  }

  /** Prometheus' text format, version 0.0.4. */
  render(): string {
    const { bannedKeys, degradedSeconds } = this.#sources;
    const places = PLACES.map((place) => ({ labels: `decided="${place}"`, value: this.#checks[place] }));
    const levels = [...this.#bansSet].map(([level, value]) => ({ labels: `level="${level}"`, value }));
    return [
      renderMetric(DECISIONS, this.#decisionSamples()),
      renderMetric(CHECKS, places),
      `# HELP ${REDIS_CALLS} Calls of the limiter's script, each for up to 128 checks, and how long Redis took or was waited for.\n`,
      `# TYPE ${REDIS_CALLS} histogram\n`,
      this.#redisCalls.render(REDIS_CALLS),
      renderMetric(BANS_SET, levels),
      renderMetric(BANS_LIFTED, [{ value: this.#bansLifted }]),
      renderMetric(KEYS_BANNED, [{ value: bannedKeys() }]),
      renderMetric(DEGRADED_SECONDS, [{ value: degradedSeconds() }]),
    ].join('');
  }

  *#decisionSamples() {
    for (const caller of CALLERS) {
      for (const [name, labels] of Object.entries(DECISION_LABELS)) {
        // An address has no day and is never banned.
        if (caller === 'address' && (name === 'exceededDay' || name === 'banned')) continue;
        const value = this.#decisions[caller][name as keyof DecisionCounts]; // its own key
        yield { labels: `plan="${caller}",${labels}`, value };
      }
    }
  }
}
