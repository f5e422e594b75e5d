import { LIMITS, REDIS_CALLS, series } from '../queries.ts';
import { type Alert, areSlow, unless } from './alert.ts';

const SLOW_REDIS_CALLS = areSlow({
  metric: REDIS_CALLS,
  by: ['instance'],
  seconds: LIMITS.redisCallSeconds,
  share: LIMITS.slowRedisCallShare,
});

/** Leaves out servers that notice late whatever comes, so that Redis only seems slow to them. */
const unlessLate = (percentile: 'p90' | 'p99', seconds: number): string =>
  `unless on (job, instance) avg_over_time(${series('all', `nodejs_eventloop_lag_${percentile}_seconds`)}[5m]) > ${seconds}`;

export const OF_BACKENDS: readonly Alert[] = [
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
];
