import {
  ERRORS,
  failedShare,
  increase,
  JOB,
  LIMITS,
  REQUESTS,
  rate,
  SHORT_STATEMENTS,
  STATEMENTS,
  series,
  type Window,
} from '../queries.ts';
import { type Alert, areSlow, over, unless } from './alert.ts';

/** Of the objective's budget of failures: what is used up in so many hours of 30 days is `factor` times too fast. */
const burns = (factor: number, long: Window, short: Window): string => {
  const limit = Number((factor * LIMITS.failedShare).toFixed(4));
  return [
    `(\n  ${failedShare(over(long))} > ${limit}`,
    `and\n  ${failedShare(over(short))} > ${limit}`,
    `and\n  ${increase(`${REQUESTS}_count`, 'status=~"5.."', over(long))} > 10\n)`,
  ].join('\n');
};

const SLOW_STATEMENTS = areSlow({
  metric: STATEMENTS,
  labels: SHORT_STATEMENTS,
  by: ['purpose'],
  seconds: LIMITS.statementSeconds,
  share: LIMITS.slowShare,
});
const ARE_OVERLOADED = [
  `(\n  ${rate(ERRORS, 'code="overloaded"', over('5m'))}\n  / ${rate(`${REQUESTS}_count`, '', over('5m'))} > ${LIMITS.overloadedShare}`,
  `and\n  ${increase(ERRORS, 'code="overloaded"', over('5m'))} > 20\n)`,
].join('\n');

const POSTGRES_IS_DOWN = `max by (job) (${series('all', 'petstore_postgres_up')}) == 0`;
const FAILURES_ARE_EXPLAINED = unless(
  'PetstorePostgresDown',
  'PetstoreNotReady',
  'PetstoreOverloaded',
  'PetstorePostgresSlow',
);

export const PAGES: readonly Alert[] = [
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
    description: `{{ $value | humanizePercentage }} of the statements for {{ $labels.purpose }} take longer than ${LIMITS.statementSeconds} s; after 2 s callers get 503.`,
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

export const FAILING_SLOWLY: Alert = {
  name: 'PetstoreErrorBudgetBurn',
  severity: 'ticket',
  for: '15m',
  expression: `${burns(6, '6h', '30m')}\n${FAILURES_ARE_EXPLAINED}\n${unless('PetstoreErrorBudgetBurn').replace('{', '{severity="page",')}`,
  summary: 'Some requests keep failing.',
  description:
    '{{ $value | humanizePercentage }} of the requests of six hours failed with a 5xx: more than a twentieth of what may fail in 30 days.',
};
