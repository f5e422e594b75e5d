import { ERRORS, increase, LIMITS, REQUESTS, rate, SHORT_REQUESTS } from '../queries.ts';
import { type Alert, areSlow, over, unless } from './alert.ts';

const SLOW_REQUESTS = areSlow({
  metric: REQUESTS,
  labels: SHORT_REQUESTS,
  by: ['operation'],
  seconds: LIMITS.requestSeconds,
  share: LIMITS.slowShare,
});
export const OF_CALLERS: readonly Alert[] = [
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
