import type { Health, LimitsMode } from './health.ts';

/** Makes the text of everything but the requests, in Prometheus' text format. Loads its library when first asked. */
export function createProcessMetrics(health: Health): () => Promise<string> {
  let registry: Promise<{ metrics(): Promise<string> }> | undefined;
  return async () => {
    registry ??= buildRegistry(health);
    return (await registry).metrics();
  };
}

async function buildRegistry(health: Health) {
  const { collectDefaultMetrics, Counter, Gauge, Registry } = await import('prom-client');
  const registry = new Registry();
  const registers = [registry];
  // The event loop's delay is sampled at this pace; the default of 10 ms would itself be load.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  new Gauge({
    name: 'petstore_postgres_up',
    help: 'Whether PostgreSQL answered when last asked.',
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
      const modes: readonly LimitsMode[] = ['redis', 'degraded', 'in-process'];
      for (const mode of modes) this.set({ mode }, health.limitsMode === mode ? 1 : 0);
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
