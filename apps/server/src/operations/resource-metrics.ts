import { type DatabaseLoad, PURPOSES, type Purpose } from '@petstore/persistence';
import manifest from '../../package.json' with { type: 'json' };
import type { LoadReport } from '../http/app-options.ts';
import { type MetricFamily, renderHistograms, renderMetric } from './exposition.ts';
import { DurationHistogram } from './metrics.ts';

/** Upper bounds, in seconds. A statement is given up after 2.4 s. */
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
  help: 'Statements of PostgreSQL, and how long each took with its wait for a connection, by what they are for.',
} as const;
const POOL_CONNECTIONS = {
  name: 'petstore_postgres_connections',
  type: 'gauge',
  help: 'Open connections to PostgreSQL for statements of requests.',
} as const satisfies MetricFamily;
const POOL_STATEMENTS = {
  name: 'petstore_postgres_statements_in_flight',
  type: 'gauge',
  help: 'Statements that wait for a connection or a response of PostgreSQL, by what they are for.',
} as const satisfies MetricFamily;

interface ResourceSources {
  load(): Promise<LoadReport>;
  database(): DatabaseLoad;
}

/** What the process has in use: connections of clients and to PostgreSQL, and what is in flight on them. */
export class ResourceMetrics {
  readonly #statements = Object.fromEntries(
    PURPOSES.map((purpose) => [purpose, new DurationHistogram(STATEMENT_BOUNDS)]),
  ) as Readonly<Record<Purpose, DurationHistogram>>; // exactly these
  #sources: ResourceSources | undefined;

  readonly durationsOf = (purpose: Purpose): DurationHistogram => this.#statements[purpose];

  /** Called once, when there is something to report. */
  observe(sources: ResourceSources): void {
    this.#sources = sources;
  }

  async render(): Promise<string> {
    const build = `version="${manifest.version}",node="${process.versions.node}"`;
    const histograms = Object.entries(this.#statements).map(
      ([purpose, histogram]) => [`purpose="${purpose}"`, histogram] as const,
    );
    const { connections, requests, streams } = (await this.#sources?.load()) ?? NO_LOAD;
    const database = this.#sources?.database();
    const inFlight = Object.entries(database?.statementsInFlight ?? {});
    return [
      renderMetric(BUILD, [{ labels: build, value: 1 }]),
      renderMetric(REQUESTS, [{ value: requests }]),
      renderMetric(CONNECTIONS, [{ value: connections }]),
      renderMetric(STREAMS, [{ value: streams }]),
      renderHistograms(STATEMENTS, histograms),
      renderMetric(POOL_CONNECTIONS, database === undefined ? [] : [{ value: database.openConnections }]),
      renderMetric(
        POOL_STATEMENTS,
        inFlight.map(([purpose, value]) => ({ labels: `purpose="${purpose}"`, value })),
      ),
    ].join('');
  }
}

const NO_LOAD: LoadReport = { connections: 0, requests: 0, streams: 0 };
