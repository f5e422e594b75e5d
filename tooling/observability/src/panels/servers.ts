import { BOUNDS, LIMITS, rate } from '../queries.ts';
import { own, type Panel, perServer, type Row, shown } from './panel.ts';

export const IN_FLIGHT_ROW: Row = {
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

export const PROCESS_ROW: Row = {
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
