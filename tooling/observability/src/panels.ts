import {
  BOUNDS,
  ERRORS,
  failedShare,
  increase,
  LIMITS,
  quantile,
  REDIS_CALLS,
  REQUESTS,
  rate,
  SHORT_REQUESTS,
  STATEMENTS,
  series,
} from './queries.ts';

interface Query {
  readonly expression: string;
  /** With labels as in `{{operation}}`. */
  readonly legend: string;
}

/** What a panel shows. Its place follows from its size and those before it. */
export interface Panel {
  readonly title: string;
  /** What a reader cannot know from the title. */
  readonly description: string;
  readonly kind: 'timeseries' | 'stat' | 'state-timeline' | 'table';
  /** Of 24 columns. */
  readonly width: number;
  /** Grafana's id of the unit. */
  readonly unit: string;
  readonly queries: readonly Query[];
  readonly isStacked?: boolean;
  /** A line, above which it is red. */
  readonly limit?: number;
  /** What values are called. */
  readonly names?: Readonly<Record<string, string>>;
  /** The most that can be. */
  readonly max?: number;
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const shown = (...by: readonly string[]) => ({ scope: 'shown', window: '$__rate_interval', by }) as const;
const own = (metric: string, labels?: string) => series('shown', metric, labels);
const perServer = (metric: string, labels?: string): Query => ({
  expression: own(metric, labels),
  legend: '{{instance}}',
});
const percentiles = (metric: string): readonly Query[] =>
  [0.5, 0.95, 0.99].map((share) => ({
    expression: quantile(share, metric, '', shown()),
    legend: `p${share * 100}`,
  }));

const AT_A_GLANCE: Row = {
  title: 'Overview',
  panels: [
    {
      title: 'Servers ready',
      description: 'Of those that Prometheus scrapes.',
      kind: 'stat',
      width: 4,
      unit: 'none',
      queries: [
        { expression: `sum(${own('petstore_ready')})`, legend: 'ready' },
        { expression: `count(${own('up')})`, legend: 'of' },
      ],
    },
    {
      title: 'Alerts',
      description: 'Those of petstore-alerts.yaml that are raised now.',
      kind: 'stat',
      width: 4,
      unit: 'none',
      queries: [
        {
          expression: 'count(ALERTS{alertname=~"Petstore.+",alertstate="firing",job="$job"}) or vector(0)',
          legend: 'alerts',
        },
      ],
      limit: 1,
    },
    {
      title: 'Request rate',
      description: 'Refusals included.',
      kind: 'stat',
      width: 4,
      unit: 'reqps',
      queries: [{ expression: rate(`${REQUESTS}_count`, '', shown()), legend: 'requests' }],
    },
    {
      title: 'Failure rate',
      description: `The share of requests that ended with a 5xx; the objective is at most ${LIMITS.failedShare * 100} % in 30 days.`,
      kind: 'stat',
      width: 4,
      unit: 'percentunit',
      queries: [
        { expression: failedShare(shown()), legend: 'now' },
        { expression: failedShare({ scope: 'shown', window: '30d' }), legend: '30 days' },
      ],
      limit: LIMITS.failedShare,
    },
    {
      title: 'Duration, p95',
      description: 'Of all requests but lists, subscriptions and documents.',
      kind: 'stat',
      width: 4,
      unit: 's',
      queries: [{ expression: quantile(0.95, REQUESTS, SHORT_REQUESTS, shown()), legend: 'p95' }],
      limit: LIMITS.requestSeconds,
    },
    {
      title: 'Keys banned',
      description: 'All servers on one Redis show the same number.',
      kind: 'stat',
      width: 4,
      unit: 'none',
      queries: [{ expression: `max(${own('petstore_keys_banned')})`, legend: 'keys' }],
    },
  ],
};

const REQUEST_ROW: Row = {
  title: 'Requests and failures',
  panels: [
    {
      title: 'Requests',
      description: 'By operation of REST, or procedure of tRPC.',
      kind: 'timeseries',
      width: 8,
      unit: 'reqps',
      queries: [{ expression: `${rate(`${REQUESTS}_count`, '', shown('operation'))} > 0`, legend: '{{operation}}' }],
      isStacked: true,
    },
    {
      title: 'Failed requests',
      description: 'Responses with a 5xx, by operation and status.',
      kind: 'timeseries',
      width: 8,
      unit: 'reqps',
      queries: [
        {
          expression: `${rate(`${REQUESTS}_count`, 'status=~"5.."', shown('operation', 'status'))} > 0`,
          legend: '{{operation}} {{status}}',
        },
      ],
      isStacked: true,
    },
    {
      title: 'Duration by operation, p95',
      description: 'Without lists and subscriptions: their duration is their reader’s.',
      kind: 'timeseries',
      width: 8,
      unit: 's',
      queries: [{ expression: quantile(0.95, REQUESTS, SHORT_REQUESTS, shown('operation')), legend: '{{operation}}' }],
      limit: LIMITS.requestSeconds,
    },
    {
      title: 'Responses',
      description: 'By status.',
      kind: 'timeseries',
      width: 8,
      unit: 'reqps',
      queries: [{ expression: rate(`${REQUESTS}_count`, '', shown('status')), legend: '{{status}}' }],
      isStacked: true,
    },
    {
      title: 'Errors by code',
      description: 'By error code (docs/errors.md): which 401, whether a 429 was a limit or a ban.',
      kind: 'timeseries',
      width: 8,
      unit: 'reqps',
      queries: [{ expression: `${rate(ERRORS, '', shown('code'))} > 0`, legend: '{{code}}' }],
    },
    {
      title: 'Lists cut',
      description: 'Lists that had begun: they could not be read further, or their reader was too slow.',
      kind: 'timeseries',
      width: 8,
      unit: 'none',
      queries: [
        { expression: increase('petstore_http_responses_cut_total', '', shown('reason')), legend: '{{reason}}' },
      ],
    },
  ],
};

const LIMITS_ROW: Row = {
  title: 'Limits and bans',
  panels: [
    {
      title: 'Rate limit decisions',
      description: 'Requests that a limit decided on, by outcome and the window that refused.',
      kind: 'timeseries',
      width: 8,
      unit: 'reqps',
      queries: [
        {
          expression: rate('petstore_rate_limit_decisions_total', '', shown('outcome', 'window')),
          legend: '{{outcome}} {{window}}',
        },
      ],
      isStacked: true,
    },
    {
      title: 'Share refused, by plan',
      description: 'The share of the requests of each plan that its limits refuse; address: without a valid key.',
      kind: 'timeseries',
      width: 8,
      unit: 'percentunit',
      queries: [
        {
          expression: `${rate('petstore_rate_limit_decisions_total', 'outcome!="admitted"', shown('plan'))}\n  / ${rate('petstore_rate_limit_decisions_total', '', shown('plan'))}`,
          legend: '{{plan}}',
        },
      ],
      max: 1,
    },
    {
      title: 'Bans set and lifted',
      description: 'Levels 1 to 4 are 1, 5, 15 and 60 minutes.',
      kind: 'timeseries',
      width: 8,
      unit: 'none',
      queries: [
        { expression: increase('petstore_bans_set_total', '', shown('level')), legend: 'set, level {{level}}' },
        { expression: increase('petstore_bans_lifted_total', '', shown()), legend: 'lifted' },
      ],
    },
    {
      title: 'Requests without a valid key',
      description: 'A second: invalid keys, missing keys, and refusals of addresses over their limit.',
      kind: 'timeseries',
      width: 8,
      unit: 'reqps',
      queries: [
        { expression: rate(ERRORS, 'code=~"(invalid|missing)_api_key"', shown('code')), legend: '{{code}}' },
        {
          expression: rate(
            'petstore_rate_limit_decisions_total',
            'plan="address",outcome="rate_limit_exceeded"',
            shown('plan'),
          ),
          legend: 'refused by address',
        },
      ],
    },
    {
      title: 'Deprecated operations, by key',
      description: 'The ten keys that use them most, in a day.',
      kind: 'timeseries',
      width: 8,
      unit: 'none',
      queries: [
        {
          expression: `topk(10, sum by (operation, key) (increase(${own('petstore_deprecated_requests_total')}[1d])))`,
          legend: '{{operation}} {{key}}',
        },
      ],
    },
    {
      title: 'Time until sunset',
      description: 'When each deprecated operation becomes 410.',
      kind: 'stat',
      width: 8,
      unit: 's',
      queries: [
        {
          expression: `max by (operation) (${own('petstore_deprecated_operation_sunset_timestamp_seconds')}) - time()`,
          legend: '{{operation}}',
        },
      ],
    },
  ],
};

const REDIS_ROW: Row = {
  title: 'Redis',
  panels: [
    {
      title: 'Duration of calls to Redis',
      description: 'Each call checks up to 128 requests; after 0.1 s it is given up.',
      kind: 'timeseries',
      width: 8,
      unit: 's',
      queries: percentiles(REDIS_CALLS),
      limit: LIMITS.redisCallSeconds,
    },
    {
      title: 'Rate limit checks, by where they were decided',
      description: 'In Redis; in the process, because Redis was away; from memory, by a refusal that is in force.',
      kind: 'timeseries',
      width: 8,
      unit: 'reqps',
      queries: [
        { expression: rate('petstore_rate_limit_checks_total', '', shown('decided')), legend: '{{decided}}' },
        { expression: rate(`${REDIS_CALLS}_count`, '', shown()), legend: 'calls to Redis' },
      ],
    },
    {
      title: 'Time without Redis',
      description: 'The share of the time for which each server counted limits by itself.',
      kind: 'timeseries',
      width: 4,
      unit: 'percentunit',
      queries: [
        {
          expression: `rate(${own('petstore_limits_degraded_seconds_total')}[$__rate_interval])`,
          legend: '{{instance}}',
        },
      ],
      max: 1,
    },
    {
      title: 'Servers by mode',
      description: 'Where each counts limits, and how often that has changed.',
      kind: 'timeseries',
      width: 4,
      unit: 'none',
      queries: [
        { expression: `sum by (mode) (${own('petstore_limits_mode')})`, legend: '{{mode}}' },
        {
          expression: increase('petstore_limits_mode_changes_total', '', shown()),
          legend: 'changes',
        },
      ],
    },
  ],
};

const POSTGRES_ROW: Row = {
  title: 'PostgreSQL',
  panels: [
    {
      title: 'PostgreSQL and readiness',
      description: 'Up and not ready: most often it is read-only. /readyz says why.',
      kind: 'state-timeline',
      width: 12,
      unit: 'none',
      queries: [
        { expression: own('petstore_postgres_up'), legend: 'PostgreSQL, {{instance}}' },
        { expression: own('petstore_ready'), legend: 'ready, {{instance}}' },
      ],
      names: { 0: 'no', 1: 'yes' },
    },
    {
      title: 'Duration of statements, p95',
      description: 'By what the connections are for, the wait for statements before it included.',
      kind: 'timeseries',
      width: 12,
      unit: 's',
      queries: [{ expression: quantile(0.95, STATEMENTS, '', shown('pool')), legend: '{{pool}}' }],
      limit: LIMITS.statementSeconds,
    },
    {
      title: 'Statements',
      description: 'A second, by what the connections are for.',
      kind: 'timeseries',
      width: 8,
      unit: 'ops',
      queries: [{ expression: rate(`${STATEMENTS}_count`, '', shown('pool')), legend: '{{pool}}' }],
      isStacked: true,
    },
    {
      title: 'Statements in flight',
      description: 'Those that wait for PostgreSQL.',
      kind: 'timeseries',
      width: 8,
      unit: 'none',
      queries: [{ expression: `sum by (pool) (${own('petstore_postgres_statements_in_flight')})`, legend: '{{pool}}' }],
      isStacked: true,
    },
    {
      title: 'Connections to PostgreSQL',
      description: 'Of all servers shown; each has 23 at most.',
      kind: 'timeseries',
      width: 8,
      unit: 'none',
      queries: [{ expression: `sum by (pool) (${own('petstore_postgres_connections')})`, legend: '{{pool}}' }],
      isStacked: true,
    },
    {
      title: 'Replica',
      description: 'Whether long lists are read from it. Empty where there is none.',
      kind: 'state-timeline',
      width: 8,
      unit: 'none',
      queries: [perServer('petstore_replica_up')],
      names: { 0: 'no', 1: 'yes' },
    },
    {
      title: 'Replica lag',
      description: 'How much of the write-ahead log it had yet to replay.',
      kind: 'timeseries',
      width: 8,
      unit: 'bytes',
      queries: [perServer('petstore_replica_lag_bytes')],
    },
    {
      title: 'Where long lists are read',
      description: 'Batches of lists, and searches.',
      kind: 'timeseries',
      width: 8,
      unit: 'ops',
      queries: [{ expression: rate('petstore_long_reads_total', '', shown('server')), legend: '{{server}}' }],
      isStacked: true,
    },
  ],
};

const IN_FLIGHT_ROW: Row = {
  title: 'In flight, and events',
  panels: [
    ...BOUNDS.map(
      ({ what, metric, most }): Panel => ({
        title: `${what.slice(0, 1).toUpperCase()}${what.slice(1)}`,
        description: `Of each server, which takes on ${most.toLocaleString('en')}.`,
        kind: 'timeseries',
        width: 6,
        unit: 'none',
        queries: [perServer(metric)],
        limit: most * LIMITS.usedShare,
      }),
    ),
    {
      title: 'Events',
      description:
        'Changes of orders that were recorded, and events given to subscribers, each counted for each of them.',
      kind: 'timeseries',
      width: 12,
      unit: 'ops',
      queries: [
        { expression: rate('petstore_order_events_recorded_total', '', shown()), legend: 'recorded' },
        {
          expression: rate('petstore_order_events_delivered_total', '', shown()),
          legend: 'delivered',
        },
      ],
    },
    {
      title: 'Event lag',
      description:
        'How long after its change the last event was read; it rises while an open transaction holds events.',
      kind: 'timeseries',
      width: 12,
      unit: 's',
      queries: [perServer('petstore_order_event_lag_seconds')],
      limit: LIMITS.eventLagSeconds,
    },
  ],
};

const PROCESS_ROW: Row = {
  title: 'Processes and releases',
  panels: [
    {
      title: 'CPU',
      description: 'Of one processor: a server keeps one busy at most, and a little more.',
      kind: 'timeseries',
      width: 6,
      unit: 'percentunit',
      queries: [{ expression: `rate(${own('process_cpu_seconds_total')}[$__rate_interval])`, legend: '{{instance}}' }],
    },
    {
      title: 'Event loop lag, p99',
      description: 'The 10 ms at which it is sampled included.',
      kind: 'timeseries',
      width: 6,
      unit: 's',
      queries: [perServer('nodejs_eventloop_lag_p99_seconds')],
      limit: LIMITS.eventLoopLagSeconds,
    },
    {
      title: 'Heap used',
      description: 'Of its limit, at which the process ends.',
      kind: 'timeseries',
      width: 6,
      unit: 'percentunit',
      queries: [
        {
          expression: `${own('nodejs_heap_size_used_bytes')} / ${own('petstore_heap_limit_bytes')}`,
          legend: '{{instance}}',
        },
      ],
      limit: LIMITS.usedShare,
      max: 1,
    },
    {
      title: 'Memory',
      description: 'Resident: the heap, buffers of connections, and the program.',
      kind: 'timeseries',
      width: 6,
      unit: 'bytes',
      queries: [perServer('process_resident_memory_bytes')],
    },
    {
      title: 'Garbage collection',
      description: 'The share of the time that it takes, by kind.',
      kind: 'timeseries',
      width: 8,
      unit: 'percentunit',
      queries: [{ expression: rate('nodejs_gc_duration_seconds_sum', '', shown('kind')), legend: '{{kind}}' }],
    },
    {
      title: 'Open files',
      description: 'Of those that the system allows each server; a connection is one.',
      kind: 'timeseries',
      width: 8,
      unit: 'percentunit',
      queries: [{ expression: `${own('process_open_fds')} / ${own('process_max_fds')}`, legend: '{{instance}}' }],
      limit: LIMITS.usedShare,
      max: 1,
    },
    {
      title: 'Releases',
      description: 'Which release each server runs, on which Node, and for how long.',
      kind: 'table',
      width: 8,
      unit: 's',
      queries: [
        {
          expression: `(time() - ${own('process_start_time_seconds')})\n  * on (job, instance) group_left (version, node) ${own('petstore_build_info')}`,
          legend: '',
        },
      ],
    },
  ],
};

export const ROWS: readonly Row[] = [
  AT_A_GLANCE,
  REQUEST_ROW,
  LIMITS_ROW,
  REDIS_ROW,
  POSTGRES_ROW,
  IN_FLIGHT_ROW,
  PROCESS_ROW,
];
