import type { DatabaseLoad, OrderEventStore } from '@petstore/persistence';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Traffic } from '../http/app.ts';
import type { Health } from './health.ts';
import type { Limits, LimitsMode } from './open-limiter.ts';

// Metrics that are read at a scrape. The parts of the server that provide them start one by one; each adds its own once.

const LIMITS_MODES = ['redis', 'degraded', 'in-process'] as const satisfies readonly LimitsMode[];

type HealthState = Pick<Health, 'isReady' | 'isStorageUp' | 'limitsMode' | 'limitsModeChanges'>;

export function addHealthMetrics(registry: Registry, health: HealthState): void {
  addGauge(registry, 'petstore_ready', 'Whether the server serves, as /readyz says, at the last check.', () =>
    Number(health.isReady),
  );
  addGauge(registry, 'petstore_postgres_up', 'Whether the last ping to PostgreSQL succeeded.', () =>
    Number(health.isStorageUp),
  );
  new Gauge({
    name: 'petstore_limits_mode',
    help: 'Where limits are counted: 1 for the mode in force.',
    labelNames: ['mode'],
    registers: [registry],
    collect() {
      for (const mode of LIMITS_MODES) this.set({ mode }, Number(health.limitsMode === mode));
    },
  });
  addCounter(
    registry,
    'petstore_limits_mode_changes_total',
    'How often limits have gone from Redis into this process or back.',
    () => health.limitsModeChanges,
  );
}

export function addLimitMetrics(registry: Registry, limits: Pick<Limits, 'bannedKeys' | 'degradedSeconds'>): void {
  addGauge(registry, 'petstore_keys_banned', 'Keys that are banned: the same number in all servers on one Redis.', () =>
    limits.bannedKeys(),
  );
  addCounter(
    registry,
    'petstore_limits_degraded_seconds_total',
    'How long a Redis was away, so that limits were counted in this process.',
    () => limits.degradedSeconds(),
  );
}

type EventState = Pick<OrderEventStore, 'followerCount' | 'deliveredCount' | 'heldUpMs' | 'lagMs'>;

export function addEventMetrics(registry: Registry, events: EventState): void {
  addCounter(
    registry,
    'petstore_order_events_delivered_total',
    'Events given to subscribers, each counted for each of them.',
    () => events.deliveredCount,
  );
  addGauge(
    registry,
    'petstore_order_event_subscribers',
    'Subscriptions to the changes of orders.',
    () => events.followerCount,
  );
  addGauge(
    registry,
    'petstore_order_event_lag_seconds',
    'How long after its change the latest event was read for subscribers, or for how long a transaction holds reading up; NaN: none was read yet.',
    () => (events.heldUpMs || events.lagMs) / 1_000,
  );
}

export function addDatabaseMetrics(registry: Registry, readLoad: () => DatabaseLoad): void {
  addGauge(
    registry,
    'petstore_postgres_connections',
    'Open connections to PostgreSQL for statements of requests.',
    () => readLoad().openConnections,
  );
  new Gauge({
    name: 'petstore_postgres_statements_in_flight',
    help: 'Statements that wait for a connection or a response of PostgreSQL, by what they are for.',
    labelNames: ['purpose'],
    registers: [registry],
    collect() {
      for (const [purpose, count] of Object.entries(readLoad().statementsInFlight)) this.set({ purpose }, count);
    },
  });
}

export function addHttpMetrics(registry: Registry, { connections, requestsInFlight, longLists }: Traffic): void {
  addGauge(
    registry,
    'petstore_http_requests_in_flight',
    'Requests in flight, responses that are being sent included.',
    () => requestsInFlight.count,
  );
  addGauge(registry, 'petstore_http_connections', 'Open connections of clients.', () => connections.count);
  addGauge(registry, 'petstore_http_long_lists', 'Long lists that are being sent.', () => longLists.openCount);
}

function addGauge(registry: Registry, name: string, help: string, read: () => number | Promise<number>): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      this.set(await read());
    },
  });
}

/** @param readTotal returns a value that never decreases */
function addCounter(registry: Registry, name: string, help: string, readTotal: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(readTotal());
    },
  });
}
