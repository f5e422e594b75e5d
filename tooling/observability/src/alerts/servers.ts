import { BOUNDS, LIMITS, series } from '../queries.ts';
import { type Alert, unless } from './alert.ts';

export const OF_SERVERS: readonly Alert[] = [
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
