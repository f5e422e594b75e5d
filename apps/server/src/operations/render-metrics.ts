import { type MetricFamily, renderHistograms, renderMetric } from './exposition.ts';
import type { DecisionCounts, LimitCounts, RequestCounts } from './metrics.ts';

const REQUESTS = {
  name: 'petstore_http_request_duration_seconds',
  help: 'Requests served, and the duration of each.',
} as const;
const DEPRECATED_USE = {
  name: 'petstore_deprecated_requests_total',
  type: 'counter',
  help: 'Requests to deprecated operations, by the id of the key; none: no valid key.',
} as const satisfies MetricFamily;
const SUNSETS = {
  name: 'petstore_deprecated_operation_sunset_timestamp_seconds',
  type: 'gauge',
  help: 'When a deprecated operation ends, in Unix time.',
} as const satisfies MetricFamily;
const ERRORS = {
  name: 'petstore_http_errors_total',
  type: 'counter',
  help: 'Failures reported to callers, by the error code; each call of a batch counts.',
} as const satisfies MetricFamily;
const CUTS = {
  name: 'petstore_http_responses_cut_total',
  type: 'counter',
  help: 'Responses that began and were cut, because what they are made of could not be read or their reader was too slow.',
} as const satisfies MetricFamily;
const DECISIONS = {
  name: 'petstore_rate_limit_decisions_total',
  type: 'counter',
  help: 'Requests that a limit decided on, by plan (address: no valid key), the window that refused and the outcome.',
} as const satisfies MetricFamily;
const CHECKS = {
  name: 'petstore_rate_limit_checks_total',
  type: 'counter',
  help: 'Checks of limits: decided in Redis, in this process, or from memory by a refusal that is in force.',
} as const satisfies MetricFamily;
const REDIS_CALLS = {
  name: 'petstore_rate_limit_redis_call_duration_seconds',
  help: 'Calls of the script in Redis, each for up to 128 checks, and how long each took or was waited for.',
} as const;
const BANS_SET = {
  name: 'petstore_bans_set_total',
  type: 'counter',
  help: 'Bans of keys that requests to this server have set, by level.',
} as const satisfies MetricFamily;
const BANS_LIFTED = {
  name: 'petstore_bans_lifted_total',
  type: 'counter',
  help: 'Bans that operators have lifted, each counted by one server.',
} as const satisfies MetricFamily;
const KEYS_BANNED = {
  name: 'petstore_keys_banned',
  type: 'gauge',
  help: 'Keys that are banned: the same number in all servers on one Redis.',
} as const satisfies MetricFamily;
const DEGRADED = {
  name: 'petstore_limits_degraded_seconds_total',
  type: 'counter',
  help: 'How long a Redis was away, so that limits were counted in this process.',
} as const satisfies MetricFamily;

/**
 * Renders what requests add to, in Prometheus' text format.
 *
 * @param sunsets when each deprecated operation ends. @default none is deprecated
 */
export const renderMetrics = (
  requests: RequestCounts,
  limits: LimitCounts,
  sunsets: ReadonlyMap<string, Date> = new Map(),
): string =>
  [
    renderHistograms(REQUESTS, histogramsOf(requests)),
    renderMetric(DEPRECATED_USE, deprecatedUseOf(requests)),
    renderMetric(SUNSETS, sunsetsIn(sunsets)),
    renderMetric(ERRORS, samplesOf('code', requests.errors)),
    renderMetric(CUTS, samplesOf('reason', Object.entries(requests.cuts))),
    renderMetric(DECISIONS, decisionsOf(limits)),
    renderMetric(CHECKS, samplesOf('decided', Object.entries(limits.checks))),
    renderHistograms(REDIS_CALLS, [['', limits.redisCalls]]),
    renderMetric(BANS_SET, samplesOf('level', limits.bansSet)),
    renderMetric(BANS_LIFTED, [{ value: limits.bansLifted }]),
    renderMetric(KEYS_BANNED, [{ value: limits.sources.bannedKeys() }]),
    renderMetric(DEGRADED, [{ value: limits.sources.degradedSeconds() }]),
  ].join('');

function* samplesOf(label: string, values: Iterable<readonly [string | number, number]>) {
  for (const [name, value] of values) yield { labels: `${label}="${name}"`, value };
}

function* histogramsOf({ durations }: RequestCounts) {
  for (const [operation, byStatus] of durations) {
    for (const [status, histogram] of byStatus) {
      yield [`operation="${operation}",status="${status}"`, histogram] as const;
    }
  }
}

function* deprecatedUseOf({ deprecatedUse }: RequestCounts) {
  for (const [operation, byKey] of deprecatedUse) {
    for (const [key, value] of byKey) yield { labels: `operation="${operation}",key="${key}"`, value };
  }
}

function* sunsetsIn(sunsets: ReadonlyMap<string, Date>) {
  for (const [operation, at] of sunsets) yield { labels: `operation="${operation}"`, value: at.getTime() / 1_000 };
}

/** A ban refuses whatever the windows hold. */
const DECISION_LABELS = [
  ['admitted', 'window="none",outcome="admitted"'],
  ['exceededMinute', 'window="minute",outcome="rate_limit_exceeded"'],
  ['exceededDay', 'window="day",outcome="rate_limit_exceeded"'],
  ['banned', 'window="none",outcome="api_key_banned"'],
] as const satisfies readonly (readonly [keyof DecisionCounts, string])[];

function* decisionsOf({ decisions }: LimitCounts) {
  for (const [caller, counts] of Object.entries(decisions)) {
    for (const [name, labels] of DECISION_LABELS) {
      // An address has no day and is never banned.
      if (caller === 'address' && (name === 'exceededDay' || name === 'banned')) continue;
      yield { labels: `plan="${caller}",${labels}`, value: counts[name] };
    }
  }
}
