import type { Persistence } from '@petstore/persistence';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Traffic } from '../http/app.ts';
import type { EventCleanup } from './event-cleanup.ts';
import type { Health } from './health.ts';
import type { Limits, LimitsMode } from './open-limiter.ts';
import type { StorageWatch } from './storage-watch.ts';

// Metrics that are read at a scrape. The parts of the server that provide them start one by one; each adds its own once.

export function addHealthMetrics(registry: Registry, health: Health): void {
  addMetrics(registry, {
    petstore_ready: [
      'Whether the server is ready, as reported by /readyz, at the last check.',
      () => Number(health.isReady),
    ],
  });
}

export function addDatabaseMetrics(registry: Registry, storage: StorageWatch, { load }: Persistence): void {
  addMetrics(registry, {
    petstore_postgres_up: [
      'Whether PostgreSQL responded to the last ping, even if it is read-only.',
      () => Number(storage.state !== 'unavailable'),
    ],
    petstore_postgres_connections: [
      'Open connections in the PostgreSQL connection pool for requests.',
      () => load().openConnections,
    ],
  });
  new Gauge({
    name: 'petstore_postgres_statements_in_flight',
    help: 'Statements that wait for a connection of the pool or for a response from PostgreSQL, by purpose.',
    labelNames: ['purpose'],
    registers: [registry],
    collect() {
      for (const [purpose, count] of Object.entries(load().statementsInFlight)) this.set({ purpose }, count);
    },
  });
}

export function addEventMetrics(registry: Registry, cleanup: EventCleanup): void {
  addMetrics(registry, {
    petstore_order_events_oldest_age_seconds: [
      'Age of the oldest event that the last deletion left: little more than EVENTS_RETENTION, unless deletions fail.',
      () => cleanup.oldestAgeSeconds(),
    ],
    petstore_order_events_retention_seconds: ['EVENTS_RETENTION.', () => cleanup.retentionSeconds],
  });
}

const LIMITS_MODES = ['redis', 'degraded', 'in-process'] as const satisfies readonly LimitsMode[];

export function addLimitMetrics(registry: Registry, limits: Limits): void {
  addMetrics(registry, {
    petstore_limits_fallbacks_total: [
      'How often Redis became unavailable, and this process began to count limits by itself, from empty.',
      () => limits.readState().fallbacks,
    ],
    petstore_limits_degraded_seconds_total: [
      'How long Redis was unavailable, and limits were counted in this process.',
      () => limits.readState().degradedSeconds,
    ],
    petstore_keys_banned: [
      'Banned keys: the same number on all servers that share a Redis.',
      () => limits.countBannedKeys(),
    ],
  });
  new Gauge({
    name: 'petstore_limits_mode',
    help: 'Where limits are counted: 1 for the current mode.',
    labelNames: ['mode'],
    registers: [registry],
    collect() {
      const inForce = limits.readState().mode;
      for (const mode of LIMITS_MODES) this.set({ mode }, Number(mode === inForce));
    },
  });
}

export function addHttpMetrics(
  registry: Registry,
  { connections, requestsInFlight, longLists, waitingCalls }: Traffic,
): void {
  addMetrics(registry, {
    petstore_http_requests_in_flight: [
      'Requests in flight, including responses that are being sent.',
      () => requestsInFlight.count,
    ],
    petstore_http_connections: ['Open client connections.', () => connections.count],
    petstore_http_long_lists: ['Long lists that are being sent.', () => longLists.openCount],
    petstore_http_waiting: ['Calls that wait for the change of an order.', () => waitingCalls.count],
  });
}

/** By name: what is measured, in words, and a function that reads it. */
type MetricTable = Readonly<Record<string, readonly [help: string, read: () => number | Promise<number>]>>;

/** Adds counters, which Prometheus knows by the end of their names, and gauges. */
function addMetrics(registry: Registry, table: MetricTable): void {
  for (const [name, [help, read]] of Object.entries(table)) {
    const described = { name, help, registers: [registry] };
    if (name.endsWith('_total')) {
      new Counter({
        ...described,
        async collect() {
          const value = await read();
          this.reset();
          this.inc(value);
        },
      });
    } else {
      new Gauge({
        ...described,
        async collect() {
          this.set(await read());
        },
      });
    }
  }
}
