import { getHeapStatistics } from 'node:v8';
import { ERROR_CATALOGUE, type ErrorCode, procedureContracts, restRoutes } from '@petstore/api';
import { type ApiKeyId, PLAN_NAMES, type PlanName } from '@petstore/domain';
import { PURPOSES, type Purpose } from '@petstore/persistence';
import { BAN_DURATIONS_MS, DECISION_PLACES, type RateLimitDecision, type RateLimitRefusal } from '@petstore/rate-limit';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import manifest from '../../package.json' with { type: 'json' };
import { REFUSAL_CODES } from '../http/refusal-codes.ts';

/** Upper bounds of the buckets, in seconds. */
const REQUEST_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** A Redis call is abandoned after 0.1 s. */
const CALL_BOUNDS = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1];
/** A statement is abandoned after 2.4 s. */
const STATEMENT_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** prom-client's gauges with names of counters. Each is the sum of another gauge over its labels. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Why a response was cut: its source failed, or the client was too slow. */
export type CutReason = (typeof CUT_REASONS)[number];
const CUT_REASONS = ['failed', 'slow_reader'] as const;

/** Whose limit decided: a key's, named by its plan, or an address's for requests without a valid key. */
export type LimitedCaller = PlanName | 'address';

/** The maximum number of keys with their own series for each deprecated operation. */
const DEPRECATED_KEYS_MAX = 1_000;
/** The label of all other keys. It is shorter than any key id. */
const OTHER_KEYS = 'other';

export interface MetricsOptions {
  /** The commit that runs; `undefined` if it is not known. */
  readonly commit: string | undefined;
  /** When the deprecated operations end. */
  readonly petsSunsetAt: Date;
}

/** What the public listener counts. The methods run for every request, so they are cheap and never throw. */
export type HttpMetrics = Pick<
  Metrics,
  'observeRequest' | 'observeDeprecatedUse' | 'countError' | 'countCut' | 'countDecision' | 'countRemembered'
>;

/**
 * The server's counters and timers, with methods for those whose labels are found out here. `state-metrics.ts` adds the
 * values read at a scrape.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #registers = [this.registry];

  readonly #requests = new Histogram({
    name: 'petstore_http_request_duration_seconds',
    help: 'Requests served, and the duration of each.',
    labelNames: ['operation', 'status'],
    buckets: REQUEST_BOUNDS,
    registers: this.#registers,
  });
  readonly #deprecatedUse = new Counter({
    name: 'petstore_deprecated_requests_total',
    help: 'Requests to deprecated operations (calls, over tRPC), by the id of the key; none: no valid key.',
    labelNames: ['operation', 'key'],
    registers: this.#registers,
  });
  readonly #errors = new Counter({
    name: 'petstore_http_errors_total',
    help: 'Failures reported to callers, by the error code; each call of a batch counts.',
    labelNames: ['code'],
    registers: this.#registers,
  });
  readonly #cuts = new Counter({
    name: 'petstore_http_responses_cut_total',
    help: 'Responses that were cut off after they began, because their data could not be read or the client was too slow.',
    labelNames: ['reason'],
    registers: this.#registers,
  });
  readonly #decisions = new Counter({
    name: 'petstore_rate_limit_decisions_total',
    help: 'Requests that a limit decided on, by plan (address: no valid key), the window that refused and the outcome.',
    labelNames: ['plan', 'window', 'outcome'],
    registers: this.#registers,
  });
  readonly checks = new Counter({
    name: 'petstore_rate_limit_checks_total',
    help: 'Rate limit checks, by where they were decided: in Redis, in this process, or by a cached refusal.',
    labelNames: ['decided'],
    registers: this.#registers,
  });
  readonly redisCalls = new Histogram({
    name: 'petstore_rate_limit_redis_call_duration_seconds',
    help: 'Calls of the script in Redis, each for up to 128 checks, and their duration, timeouts included.',
    buckets: CALL_BOUNDS,
    registers: this.#registers,
  });
  readonly bansSet = new Counter({
    name: 'petstore_bans_set_total',
    help: 'Key bans set by requests to this server, by level.',
    labelNames: ['level'],
    registers: this.#registers,
  });
  readonly #statements = new Histogram({
    name: 'petstore_postgres_statement_duration_seconds',
    help: 'PostgreSQL statements, and their duration including the wait for a connection of the pool, by purpose.',
    labelNames: ['purpose'],
    buckets: STATEMENT_BOUNDS,
    registers: this.#registers,
  });
  readonly eventsRecorded = new Counter({
    name: 'petstore_order_events_recorded_total',
    help: 'Changes to orders made by requests to this server.',
    registers: this.#registers,
  });

  /** The keys with a series, by operation. */
  readonly #deprecatedKeys = new Map<string, Set<string>>();

  constructor({ commit = '', petsSunsetAt }: MetricsOptions) {
    collectDefaultMetrics({ register: this.registry });
    for (const name of MISNAMED) this.registry.removeSingleMetric(name);
    new Gauge({
      name: 'petstore_build_info',
      help: '1, with the version of the service, its commit if there is one, and the version of Node.',
      labelNames: ['version', 'commit', 'node'],
      registers: this.#registers,
    }).set({ version: manifest.version, commit, node: process.versions.node }, 1);
    new Gauge({
      name: 'petstore_heap_limit_bytes',
      help: 'The maximum of nodejs_heap_size_used_bytes; the process crashes when it is reached.',
      registers: this.#registers,
    }).set(getHeapStatistics().heap_size_limit);
    const sunset = new Gauge({
      name: 'petstore_deprecated_operation_sunset_timestamp_seconds',
      help: 'When a deprecated operation ends, in Unix time.',
      labelNames: ['operation'],
      registers: this.#registers,
    });
    for (const [procedure, { deprecation, openapi }] of procedureContracts) {
      if (deprecation === undefined) continue;
      const names = openapi === undefined ? [procedure] : [openapi.operationId, procedure];
      for (const operation of names) sunset.set({ operation }, petsSunsetAt.getTime() / 1_000);
    }
    this.#beginWithZeros();
  }

  /** Series begin at 0, so that a monitoring system sees the first observation as a rise. */
  #beginWithZeros(): void {
    const operations = new Set([...restRoutes.map(({ operationId }) => operationId), ...procedureContracts.keys()]);
    const failures = new Set(Object.values(ERROR_CATALOGUE).flatMap(({ status }) => (status < 500 ? [] : [status])));
    for (const operation of operations) for (const status of failures) this.#requests.zero({ operation, status });
    for (const code of Object.keys(ERROR_CATALOGUE)) this.#errors.inc({ code }, 0);
    for (const reason of CUT_REASONS) this.#cuts.inc({ reason }, 0);
    for (const plan of [...PLAN_NAMES, 'address']) {
      this.#decisions.inc({ plan, window: 'none', outcome: 'admitted' }, 0);
      this.#decisions.inc({ plan, window: 'minute', outcome: REFUSAL_CODES.refused }, 0);
    }
    // Addresses have no daily limit and are never banned.
    for (const plan of PLAN_NAMES) {
      this.#decisions.inc({ plan, window: 'day', outcome: REFUSAL_CODES.refused }, 0);
      this.#decisions.inc({ plan, window: 'none', outcome: REFUSAL_CODES.banned }, 0);
    }
    for (const decided of DECISION_PLACES) this.checks.inc({ decided }, 0);
    for (const level of BAN_DURATIONS_MS.keys()) this.bansSet.inc({ level: level + 1 }, 0);
    for (const purpose of PURPOSES) this.#statements.zero({ purpose });
  }

  /**
   * @param operation an operation id, a procedure's name, or one of a few fixed names; never a URL
   * @param status the HTTP status of the response
   */
  observeRequest(operation: string, status: number, durationSeconds: number): void {
    this.#requests.observe({ operation, status }, durationSeconds);
  }

  /**
   * Also called for every request of a deprecated operation, whatever the response. Each call of a batch counts.
   *
   * @param operation an operation id or a procedure's name
   * @param key the key of the request; left out if it had no valid key
   */
  observeDeprecatedUse(operation: string, key?: ApiKeyId): void {
    const keyId = key ?? '';
    const keys = this.#deprecatedKeys.get(operation) ?? new Set();
    this.#deprecatedKeys.set(operation, keys);
    if (keyId !== '' && keys.size < DEPRECATED_KEYS_MAX) keys.add(keyId);
    this.#deprecatedUse.inc({ operation, key: keyId === '' || keys.has(keyId) ? keyId : OTHER_KEYS });
  }

  /** Called once for each failure that is reported to a caller. A batch may report several. */
  countError(code: ErrorCode): void {
    this.#errors.inc({ code });
  }

  /** Called for a response that began and was not completed, unless its client left. */
  countCut(reason: CutReason): void {
    this.#cuts.inc({ reason });
  }

  /** Called once for each decision of the limits. */
  countDecision(plan: LimitedCaller, decision: RateLimitDecision): void {
    const window = decision.outcome === 'refused' ? decision.limitingWindow : 'none';
    const outcome = decision.outcome === 'admitted' ? 'admitted' : REFUSAL_CODES[decision.outcome];
    this.#decisions.inc({ plan, window, outcome });
  }

  /** Called instead of {@link countDecision} if this process remembers a refusal that makes a check unnecessary. */
  countRemembered(plan: LimitedCaller, refusal: RateLimitRefusal): void {
    this.checks.inc({ decided: 'memory' });
    this.countDecision(plan, refusal);
  }

  /** Observes the statements of a purpose, in seconds. */
  readonly statementDurationsOf = (purpose: Purpose) => this.#statements.labels({ purpose });
}
