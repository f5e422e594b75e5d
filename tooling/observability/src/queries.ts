import { DEFAULT_BOUNDS } from '@petstore/server/http-bounds';

/** By which Prometheus scrapes the service: metrics of the process and of the scrape itself are found by it. */
export const JOB = 'petstore';

/** Which servers are meant: those that the dashboard shows, or all there are. */
export type Scope = 'shown' | 'all';

const SHOWN = 'job="$job",instance=~"$instance"';
/** Other programs have metrics of the same names. */
const NOT_OURS = /^(?:up$|process_|nodejs_)/;

/**
 * The series of a metric.
 *
 * @param labels as in `code="overloaded"`. @default any
 */
export function series(scope: Scope, metric: string, labels = ''): string {
  const servers = scope === 'shown' ? SHOWN : NOT_OURS.test(metric) ? `job="${JOB}"` : '';
  const matchers = [labels, servers].filter((matcher) => matcher !== '').join(',');
  return matchers === '' ? metric : `${metric}{${matchers}}`;
}

/** What is measured over a time, such as `5m`, or the dashboard's own. */
export type Window = `${number}${'m' | 'h' | 'd'}` | '$__rate_interval';

interface Measured {
  readonly scope: Scope;
  readonly window: Window;
  /** Labels that each value is for, besides the job. @default none */
  readonly by?: readonly string[];
}

/** `sum by (...)`. Of all servers, those of each job are summed up. */
function sumBy(scope: Scope, labels: readonly string[] = []): string {
  const all = scope === 'all' ? ['job', ...labels] : labels;
  return all.length === 0 ? 'sum' : `sum by (${all.join(', ')}) `;
}

/** The time within which a share of what a histogram has counted was done, in seconds. */
export function quantile(share: number, metric: string, labels: string, { scope, window, by = [] }: Measured): string {
  const buckets = `rate(${series(scope, `${metric}_bucket`, labels)}[${window}])`;
  return `histogram_quantile(${share}, ${sumBy(scope, [...by, 'le'])}(${buckets}))`;
}

/** How often something happened, a second. */
export const rate = (metric: string, labels: string, { scope, window, by }: Measured): string =>
  `${sumBy(scope, by)}(rate(${series(scope, metric, labels)}[${window}]))`;

/** How often something happened in a time. */
export const increase = (metric: string, labels: string, { scope, window, by }: Measured): string =>
  `${sumBy(scope, by)}(increase(${series(scope, metric, labels)}[${window}]))`;

/** A bucket of a histogram. Prometheus 2 keeps `le="1"` as it was scraped; Prometheus 3 stores it as `le="1.0"`. */
const bucketOf = (boundSeconds: number): string =>
  Number.isInteger(boundSeconds) ? `le=~"${boundSeconds}([.]0)?"` : `le="${boundSeconds}"`;

/** The share of what a histogram has counted that took longer than one of its bounds: exact, other than a quantile. */
export function slowerShare(boundSeconds: number, metric: string, labels: string, measured: Measured): string {
  const within = [labels, bucketOf(boundSeconds)].filter((matcher) => matcher !== '').join(',');
  return `1 - ${rate(`${metric}_bucket`, within, measured)}\n    / ${rate(`${metric}_count`, labels, measured)}`;
}

export const REQUESTS = 'petstore_http_request_duration_seconds';
export const STATEMENTS = 'petstore_postgres_statement_duration_seconds';
export const REDIS_CALLS = 'petstore_rate_limit_redis_call_duration_seconds';
export const ERRORS = 'petstore_http_errors_total';

/** The duration of these is their reader's: lists, subscriptions, and the pages of the reference. */
export const SHORT_REQUESTS = 'operation!~"listOrders|orders[.]list|orders[.]events|docs|openapi"';
/** Statements that requests wait for. Those for other purposes are batches of lists, searches, and what followers read. */
export const SHORT_STATEMENTS = 'purpose=~"keys|reads|writes"';

/** The share of requests that failed because of us. */
export const failedShare = (measured: Measured): string =>
  `${rate(`${REQUESTS}_count`, 'status=~"5.."', measured)}\n  / ${rate(`${REQUESTS}_count`, '', measured)}`;

/** What is in use, and how much of it a server takes on. */
export const BOUNDS = [
  { what: 'connections', metric: 'petstore_http_connections', most: DEFAULT_BOUNDS.maxConnections },
  { what: 'requests in flight', metric: 'petstore_http_requests_in_flight', most: DEFAULT_BOUNDS.maxRequestsInFlight },
  { what: 'long lists', metric: 'petstore_http_long_lists', most: DEFAULT_BOUNDS.maxStreams },
  { what: 'subscriptions', metric: 'petstore_order_event_subscribers', most: DEFAULT_BOUNDS.maxSubscriptions },
] as const;

/** What alerts go by, and dashboards draw as lines. Those of durations are bounds of their histograms. */
export const LIMITS = {
  /** Of requests; the objective is 0.999. */
  failedShare: 0.001,
  /** Of requests that are refused as overloaded. */
  overloadedShare: 0.01,
  /** Of the requests and statements that may take longer than the following. */
  slowShare: 0.05,
  /** Statements are given up after 2 s. */
  statementSeconds: 1,
  requestSeconds: 0.5,
  /** Calls are given up after 0.1 s. A Redis that is slow is so for most; single ones wait for the processor, too. */
  redisCallSeconds: 0.025,
  slowRedisCallShare: 0.2,
  eventLoopLagSeconds: 0.2,
  eventLagSeconds: 10,
  /** Of the heap's limit, and of each of {@link BOUNDS}. */
  usedShare: 0.8,
} as const;
