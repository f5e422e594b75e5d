import { increase, LIMITS, quantile, REDIS_CALLS, rate, STATEMENTS } from '../queries.ts';
import { own, percentiles, type Row, shown } from './panel.ts';

export const REDIS_ROW: Row = {
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

export const POSTGRES_ROW: Row = {
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
      description: 'By what they are for, the wait for a connection included.',
      kind: 'timeseries',
      width: 12,
      unit: 's',
      queries: [{ expression: quantile(0.95, STATEMENTS, '', shown('purpose')), legend: '{{purpose}}' }],
      limit: LIMITS.statementSeconds,
    },
    {
      title: 'Statements',
      description: 'A second, by what they are for.',
      kind: 'timeseries',
      width: 8,
      unit: 'ops',
      queries: [{ expression: rate(`${STATEMENTS}_count`, '', shown('purpose')), legend: '{{purpose}}' }],
      isStacked: true,
    },
    {
      title: 'Statements in flight',
      description: 'Those that wait for PostgreSQL.',
      kind: 'timeseries',
      width: 8,
      unit: 'none',
      queries: [
        { expression: `sum by (purpose) (${own('petstore_postgres_statements_in_flight')})`, legend: '{{purpose}}' },
      ],
      isStacked: true,
    },
    {
      title: 'Connections to PostgreSQL',
      description: 'By server; each has 16 at most, and one more that watches PostgreSQL.',
      kind: 'timeseries',
      width: 8,
      unit: 'none',
      queries: [{ expression: `sum by (instance) (${own('petstore_postgres_connections')})`, legend: '{{instance}}' }],
      isStacked: true,
    },
  ],
};
