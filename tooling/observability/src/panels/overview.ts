import { failedShare, LIMITS, quantile, REQUESTS, rate, SHORT_REQUESTS } from '../queries.ts';
import { own, type Row, shown } from './panel.ts';

export const OVERVIEW_ROW: Row = {
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
