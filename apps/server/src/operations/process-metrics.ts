import { getHeapStatistics } from 'node:v8';
import type { Registry } from 'prom-client';
import type { Health, LimitsMode } from './health.ts';

const LIMITS_MODES = ['redis', 'degraded', 'in-process'] as const satisfies readonly LimitsMode[];

/** Gauges of prom-client that are named like counters. Each is the sum of another one over its labels. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
] as const;

/**
 * Renders everything but the requests in Prometheus' text format: prom-client's default metrics, and the state of what
 * the server depends on. The library is loaded at the first call, so that the start need not wait for it.
 */
export function createProcessMetrics(health: Health): () => Promise<string> {
  let registry: Promise<Registry> | undefined;
  return async () => {
    registry ??= buildRegistry(health);
    return (await registry).metrics();
  };
}

async function buildRegistry(health: Health): Promise<Registry> {
  const { collectDefaultMetrics, Counter, Gauge, Registry } = await import('prom-client');
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  new Gauge({
    name: 'petstore_ready',
    help: 'Whether the server serves, as /readyz says, at the last check.',
    registers,
    collect() {
      this.set(health.isReady ? 1 : 0);
    },
  });
  new Gauge({
    name: 'petstore_heap_limit_bytes',
    help: 'The most that nodejs_heap_size_used_bytes can become; the process ends then.',
    registers,
    collect() {
      this.set(getHeapStatistics().heap_size_limit);
    },
  });
  new Gauge({
    name: 'petstore_postgres_up',
    help: 'Whether the last ping to PostgreSQL succeeded.',
    registers,
    collect() {
      this.set(health.isStorageUp ? 1 : 0);
    },
  });
  new Gauge({
    name: 'petstore_limits_mode',
    help: 'Where limits are counted: 1 for the mode in force.',
    labelNames: ['mode'],
    registers,
    collect() {
      for (const mode of LIMITS_MODES) this.set({ mode }, health.limitsMode === mode ? 1 : 0);
    },
  });
  new Counter({
    name: 'petstore_limits_mode_changes_total',
    help: 'How often limits have gone from Redis into this process or back.',
    registers,
    collect() {
      this.reset();
      this.inc(health.limitsModeChanges);
    },
  });
  return registry;
}
