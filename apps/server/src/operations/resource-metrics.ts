import { POOL_NAMES, type PoolName, type PoolReport } from '@petstore/persistence';
import manifest from '../../package.json' with { type: 'json' };
import type { LoadReport } from '../http/app-options.ts';
import { type MetricFamily, renderHistograms, renderMetric } from './exposition.ts';
import { DurationHistogram } from './metrics.ts';

/** Upper bounds, in seconds. A statement is given up after 2 s, a search after 5. */
const STATEMENT_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;

const BUILD = {
  name: 'petstore_build_info',
  type: 'gauge',
  help: '1, with the version of the service and of Node.',
} as const satisfies MetricFamily;
const REQUESTS = {
  name: 'petstore_http_requests_in_flight',
  type: 'gauge',
  help: 'Requests in flight, responses that are being sent included.',
} as const satisfies MetricFamily;
const CONNECTIONS = {
  name: 'petstore_http_connections',
  type: 'gauge',
  help: 'Open connections of clients.',
} as const satisfies MetricFamily;
const STREAMS = {
  name: 'petstore_http_long_lists',
  type: 'gauge',
  help: 'Long lists that are being sent.',
} as const satisfies MetricFamily;
const STATEMENTS = {
  name: 'petstore_postgres_statement_duration_seconds',
  help: 'Statements of PostgreSQL, and how long each took with its wait for those before it, by what the connections are for.',
} as const;
const POOL_CONNECTIONS = {
  name: 'petstore_postgres_connections',
  type: 'gauge',
  help: 'Open connections to PostgreSQL, by what they are for.',
} as const satisfies MetricFamily;
const POOL_STATEMENTS = {
  name: 'petstore_postgres_statements_in_flight',
  type: 'gauge',
  help: 'Statements that wait for a response of PostgreSQL, by what their connections are for.',
} as const satisfies MetricFamily;

interface ResourceSources {
  load(): Promise<LoadReport>;
  pools(): readonly PoolReport[];
}

/** What the process has in use: connections of clients and to PostgreSQL, and what is in flight on them. */
export class ResourceMetrics {
  readonly #statements = Object.fromEntries(
    POOL_NAMES.map((name) => [name, new DurationHistogram(STATEMENT_BOUNDS)]),
  ) as Readonly<Record<PoolName, DurationHistogram>>; // exactly these
  #sources: ResourceSources | undefined;

  readonly durationsOf = (pool: PoolName): DurationHistogram => this.#statements[pool];

  /** Called once, when there is something to report. */
  observe(sources: ResourceSources): void {
    this.#sources = sources;
  }

  async render(): Promise<string> {
    const build = `version="${manifest.version}",node="${process.versions.node}"`;
    const histograms = Object.entries(this.#statements).map(
      ([name, histogram]) => [`pool="${name}"`, histogram] as const,
    );
    const { connections, requests, streams } = (await this.#sources?.load()) ?? NO_LOAD;
    const pools = this.#sources?.pools() ?? [];
    const byPool = (read: (pool: PoolReport) => number) =>
      pools.map((pool) => ({ labels: `pool="${pool.name}"`, value: read(pool) }));
    return [
      renderMetric(BUILD, [{ labels: build, value: 1 }]),
      renderMetric(REQUESTS, [{ value: requests }]),
      renderMetric(CONNECTIONS, [{ value: connections }]),
      renderMetric(STREAMS, [{ value: streams }]),
      renderHistograms(STATEMENTS, histograms),
      renderMetric(
        POOL_CONNECTIONS,
        byPool(({ openConnections }) => openConnections),
      ),
      renderMetric(
        POOL_STATEMENTS,
        byPool(({ statementsInFlight }) => statementsInFlight),
      ),
    ].join('');
  }
}

const NO_LOAD: LoadReport = { connections: 0, requests: 0, streams: 0 };
