import { ERRORS, increase, LIMITS, quantile, REQUESTS, rate, SHORT_REQUESTS } from '../queries.ts';
import { own, type Row, shown } from './panel.ts';

export const REQUEST_ROW: Row = {
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

export const LIMITS_ROW: Row = {
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
