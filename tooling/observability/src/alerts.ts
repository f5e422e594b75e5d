import {
  BOUNDS,
  ERRORS,
  failedShare,
  increase,
  JOB,
  LIMITS,
  REDIS_CALLS,
  REQUESTS,
  rate,
  SHORT_REQUESTS,
  SHORT_STATEMENTS,
  STATEMENTS,
  series,
  slowerShare,
  type Window,
} from './queries.ts';

export interface Alert {
  readonly name: `Petstore${string}`;
  /** `page`: callers notice, an operator has to act now. `ticket`: an operator has to act within a day or two. */
  readonly severity: 'page' | 'ticket';
  /** How long the expression has to hold. */
  readonly for: `${number}m`;
  readonly expression: string;
  /** One line; what it means is on its page of the runbook. */
  readonly summary: string;
  /** With the value. */
  readonly description: string;
}

const over = (window: Window, ...by: readonly string[]) => ({ scope: 'all', window, by }) as const;

/**
 * Holds back what follows from an alert that is raised or was a moment ago. In the rule itself, because that holds
 * whatever the Alertmanager is configured to inhibit, and can be tested with the rule. Names alerts that are at least as severe.
 */
const unless = (...causes: readonly Alert['name'][]): string =>
  `unless on (job) count_over_time(ALERTS{alertname=~"${causes.join('|')}",alertstate="firing"}[15m])`;

/** Of the objective's budget of failures: what is used up in so many hours of 30 days is `factor` times too fast. */
const burns = (factor: number, long: Window, short: Window): string => {
  const limit = Number((factor * LIMITS.failedShare).toFixed(4));
  return [
    `(\n  ${failedShare(over(long))} > ${limit}`,
    `and\n  ${failedShare(over(short))} > ${limit}`,
    `and\n  ${increase(`${REQUESTS}_count`, 'status=~"5.."', over(long))} > 10\n)`,
  ].join('\n');
};

interface Slow {
  readonly metric: string;
  readonly labels?: string;
  readonly by?: readonly string[];
  readonly seconds: number;
  readonly share: number;
}

/** That more than a share takes longer than a bound. A few are no measure. */
const areSlow = ({ metric, labels = '', by = [], seconds, share }: Slow): string =>
  [
    `(\n  ${slowerShare(seconds, metric, labels, over('5m', ...by))} > ${share}`,
    `and\n  ${increase(`${metric}_count`, labels, over('5m', ...by))} > 20\n)`,
  ].join('\n');

const SLOW_STATEMENTS = areSlow({
  metric: STATEMENTS,
  labels: SHORT_STATEMENTS,
  by: ['pool'],
  seconds: LIMITS.statementSeconds,
  share: LIMITS.slowShare,
});
const SLOW_REQUESTS = areSlow({
  metric: REQUESTS,
  labels: SHORT_REQUESTS,
  by: ['operation'],
  seconds: LIMITS.requestSeconds,
  share: LIMITS.slowShare,
});
const SLOW_REDIS_CALLS = areSlow({
  metric: REDIS_CALLS,
  by: ['instance'],
  seconds: LIMITS.redisCallSeconds,
  share: LIMITS.slowRedisCallShare,
});

const ARE_OVERLOADED = [
  `(\n  ${rate(ERRORS, 'code="overloaded"', over('5m'))}\n  / ${rate(`${REQUESTS}_count`, '', over('5m'))} > ${LIMITS.overloadedShare}`,
  `and\n  ${increase(ERRORS, 'code="overloaded"', over('5m'))} > 20\n)`,
].join('\n');

/** Leaves out servers that notice late whatever comes, so that Redis only seems slow to them. */
const unlessLate = (percentile: 'p90' | 'p99', seconds: number): string =>
  `unless on (job, instance) avg_over_time(${series('all', `nodejs_eventloop_lag_${percentile}_seconds`)}[5m]) > ${seconds}`;

const POSTGRES_IS_DOWN = `max by (job) (${series('all', 'petstore_postgres_up')}) == 0`;
const FAILURES_ARE_EXPLAINED = unless(
  'PetstorePostgresDown',
  'PetstoreNotReady',
  'PetstoreOverloaded',
  'PetstorePostgresSlow',
);

const PAGES: readonly Alert[] = [
  {
    name: 'PetstoreDown',
    severity: 'page',
    for: '2m',
    expression: `max by (job) (${series('all', 'up')}) == 0 or absent(${series('all', 'up')})`,
    summary: 'Prometheus can reach no server.',
    description: `Prometheus has reached no server of the job ${JOB} for two minutes.`,
  },
  {
    name: 'PetstorePostgresDown',
    severity: 'page',
    for: '1m',
    expression: POSTGRES_IS_DOWN,
    summary: 'No server can use PostgreSQL.',
    description:
      'petstore_postgres_up is {{ $value }} on every server: what needs PostgreSQL is refused with 503. /readyz of each says why.',
  },
  {
    name: 'PetstoreNotReady',
    severity: 'page',
    for: '2m',
    expression: `max by (job) (${series('all', 'petstore_ready')}) == 0\nunless on (job) ${POSTGRES_IS_DOWN}`,
    summary: 'No server is ready, although PostgreSQL responds.',
    description:
      'petstore_ready is {{ $value }} on every server, most often because PostgreSQL is read-only. /readyz of each says why.',
  },
  {
    name: 'PetstoreOverloaded',
    severity: 'page',
    for: '2m',
    expression: ARE_OVERLOADED,
    summary: 'Servers refuse requests because they have too much in flight.',
    description: '{{ $value | humanizePercentage }} of the requests of 5 minutes were refused as overloaded.',
  },
  {
    name: 'PetstorePostgresSlow',
    severity: 'page',
    for: '2m',
    expression: `${SLOW_STATEMENTS}\n${unless('PetstorePostgresDown')}`,
    summary: 'Short PostgreSQL statements are slow, or wait for a lock.',
    description: `{{ $value | humanizePercentage }} of the statements of the pool {{ $labels.pool }} take longer than ${LIMITS.statementSeconds} s; after 2 s callers get 503.`,
  },
  {
    name: 'PetstoreErrorBudgetBurn',
    severity: 'page',
    for: '3m',
    expression: `${burns(14.4, '1h', '5m')}\n${FAILURES_ARE_EXPLAINED}`,
    summary: 'Many requests fail.',
    description:
      '{{ $value | humanizePercentage }} of the requests of an hour failed with a 5xx: more than a fiftieth of what may fail in 30 days.',
  },
];

const FAILING_SLOWLY: Alert = {
  name: 'PetstoreErrorBudgetBurn',
  severity: 'ticket',
  for: '15m',
  expression: `${burns(6, '6h', '30m')}\n${FAILURES_ARE_EXPLAINED}\n${unless('PetstoreErrorBudgetBurn').replace('{', '{severity="page",')}`,
  summary: 'Some requests keep failing.',
  description:
    '{{ $value | humanizePercentage }} of the requests of six hours failed with a 5xx: more than a twentieth of what may fail in 30 days.',
};

const OF_SERVERS: readonly Alert[] = [
  {
    name: 'PetstoreServerUnavailable',
    severity: 'ticket',
    for: '10m',
    expression: `(${series('all', 'up')} == 0 or ${series('all', 'petstore_ready')} == 0)\nand on (job) max by (job) (${series('all', 'petstore_ready')}) == 1`,
    summary: 'One of several servers is down or not ready.',
    description: '{{ $labels.instance }} cannot be reached, or is not ready; others serve.',
  },
  {
    name: 'PetstoreRestarting',
    severity: 'ticket',
    for: '1m',
    expression: `changes(${series('all', 'process_start_time_seconds')}[15m]) > 2`,
    summary: 'A server keeps restarting.',
    description: '{{ $labels.instance }} was started {{ $value }} times in 15 minutes.',
  },
  {
    name: 'PetstoreEventLoopLag',
    severity: 'ticket',
    for: '3m',
    expression: `${series('all', 'nodejs_eventloop_lag_p99_seconds')} > ${LIMITS.eventLoopLagSeconds}`,
    summary: 'The event loop of a server is blocked for long.',
    description: 'The event loop of {{ $labels.instance }} is {{ $value | humanizeDuration }} late, 1 time in 100.',
  },
  {
    name: 'PetstoreMemoryNearLimit',
    severity: 'ticket',
    for: '5m',
    // What is left after each collection, and not what is collected next.
    expression: `min_over_time(${series('all', 'nodejs_heap_size_used_bytes')}[10m])\n  / on (job, instance) petstore_heap_limit_bytes > ${LIMITS.usedShare}`,
    summary: 'The heap of a server is nearly full; the process ends when it is.',
    description:
      'The heap of {{ $labels.instance }} has held {{ $value | humanizePercentage }} of its limit or more for 10 minutes.',
  },
  {
    name: 'PetstoreNearCapacity',
    severity: 'ticket',
    for: '5m',
    expression: `(\n  ${BOUNDS.map(({ what, metric, most }) => `label_replace(${series('all', metric)} / ${most} > ${LIMITS.usedShare}, "bound", "${what}", "", "")`).join('\nor\n  ')}\n)\n${unless('PetstoreOverloaded')}`,
    summary: 'A server is close to one of its bounds, and will refuse requests.',
    description: '{{ $labels.instance }} has {{ $value | humanizePercentage }} of its {{ $labels.bound }}.',
  },
];

const OF_CALLERS: readonly Alert[] = [
  {
    name: 'PetstoreRequestsSlow',
    severity: 'ticket',
    for: '10m',
    expression: `${SLOW_REQUESTS}\n${unless('PetstorePostgresDown', 'PetstorePostgresSlow', 'PetstoreOverloaded', 'PetstoreEventLoopLag')}`,
    summary: 'Requests are slow.',
    description: `{{ $value | humanizePercentage }} of the requests to {{ $labels.operation }} take longer than ${LIMITS.requestSeconds} s.`,
  },
  {
    name: 'PetstoreListsCut',
    severity: 'ticket',
    for: '5m',
    expression: `${increase('petstore_http_responses_cut_total', '', over('15m', 'reason'))} > 5\n${unless('PetstorePostgresDown', 'PetstorePostgresSlow', 'PetstoreOverloaded')}`,
    summary: 'Lists were cut off while they were sent.',
    description: '{{ $value | humanize }} lists were cut in 15 minutes ({{ $labels.reason }}).',
  },
  {
    name: 'PetstoreBanSurge',
    severity: 'ticket',
    for: '1m',
    expression: `${increase('petstore_bans_set_total', '', over('15m'))} > 10`,
    summary: 'Many keys were banned.',
    description: '{{ $value | humanize }} bans were set in 15 minutes.',
  },
  {
    name: 'PetstoreInvalidKeys',
    severity: 'ticket',
    for: '10m',
    // An address over its limit is refused before its keys are looked at.
    expression: `${rate(ERRORS, 'code="invalid_api_key"', over('5m'))}\n  + ${rate('petstore_rate_limit_decisions_total', 'plan="address",outcome="rate_limit_exceeded"', over('5m'))} > 10`,
    summary: 'Many requests come with invalid API keys.',
    description:
      '{{ $value | humanize }} requests a second come with invalid keys, or from addresses over their limit.',
  },
  {
    name: 'PetstoreSunsetNear',
    severity: 'ticket',
    for: '10m',
    expression: `count by (job, operation) (${increase('petstore_deprecated_requests_total', 'key!=""', over('1d', 'operation', 'key'))} > 0)\nand on (job, operation)\n  (max by (job, operation) (petstore_deprecated_operation_sunset_timestamp_seconds) - time() > 0 < 30 * 86400)`,
    summary: 'A deprecated operation ends within 30 days, and is still used.',
    description: '{{ $value }} keys have used {{ $labels.operation }} within a day.',
  },
];

const OF_BACKENDS: readonly Alert[] = [
  {
    name: 'PetstoreLimitsDegraded',
    severity: 'ticket',
    for: '5m',
    expression: `max by (job) (\n  increase(petstore_limits_degraded_seconds_total[5m]) > 30\n  ${unlessLate('p99', LIMITS.eventLoopLagSeconds)}\n)`,
    summary: 'Redis is unavailable: each server counts rate limits for itself.',
    description: 'A server was without Redis for {{ $value | humanizeDuration }} of the last 5 minutes.',
  },
  {
    name: 'PetstoreRedisSlow',
    severity: 'ticket',
    for: '10m',
    expression: `max by (job) (\n  ${SLOW_REDIS_CALLS.replaceAll('\n', '\n  ')}\n  ${unlessLate('p90', LIMITS.redisCallSeconds)}\n)\n${unless('PetstoreLimitsDegraded')}`,
    summary: 'Calls to Redis for rate limits are slow.',
    description: `{{ $value | humanizePercentage }} of the calls to Redis by a server take longer than ${LIMITS.redisCallSeconds * 1_000} ms; after 100 ms a call is given up.`,
  },
  {
    name: 'PetstoreEventsLate',
    severity: 'ticket',
    for: '5m',
    // Of the last event that was read; where it does not change, there was none since.
    expression: `max by (job) (\n  petstore_order_event_lag_seconds > ${LIMITS.eventLagSeconds}\n  and changes(petstore_order_event_lag_seconds[5m]) > 0\n  and petstore_order_event_subscribers > 0\n)\n${unless('PetstorePostgresDown', 'PetstorePostgresSlow')}`,
    summary: 'Subscribers receive order events late.',
    description: 'Events reach subscribers {{ $value | humanizeDuration }} late.',
  },
  {
    name: 'PetstoreReplicaDown',
    severity: 'ticket',
    for: '10m',
    expression: `min by (job) (petstore_replica_up) == 0\n${unless('PetstorePostgresDown')}`,
    summary: 'The replica is unavailable or behind: long lists are read from the primary.',
    description: 'petstore_replica_up is {{ $value }} on a server. Its log says why.',
  },
];

/** Causes come first: Prometheus evaluates them in this order, and an alert is held back by those before it. */
export const ALERTS: readonly Alert[] = [...PAGES, FAILING_SLOWLY, ...OF_SERVERS, ...OF_CALLERS, ...OF_BACKENDS];

/** The page of the runbook, from the root of the repository. */
export const runbookOf = ({ name }: Pick<Alert, 'name'>): string =>
  `docs/runbook/${name
    .replace('Petstore', '')
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-')
    .toLowerCase()}.md`;
