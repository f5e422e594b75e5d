import { registerEventLoopLag } from './event-loop-lag.ts';
import type { Health, LimitsMode } from './health.ts';

/** prom-client's own unused sampling of the event loop's lag cannot be turned off, only be made rare. */
const HARDLY_EVER_MS = 3_600_000;

/** The names and texts are prom-client's. */
const CPU_TIMES: readonly (readonly [name: string, help: string, microseconds: (usage: NodeJS.CpuUsage) => number])[] =
  [
    ['process_cpu_user_seconds_total', 'Total user CPU time spent in seconds.', ({ user }) => user],
    ['process_cpu_system_seconds_total', 'Total system CPU time spent in seconds.', ({ system }) => system],
    [
      'process_cpu_seconds_total',
      'Total user and system CPU time spent in seconds.',
      ({ user, system }) => user + system,
    ],
  ];

/**
 * Makes the text of everything but the requests, in Prometheus' text format. Loads its library when first asked, so that
 * the start need not wait for it; of the collection of garbage it can tell from then on only.
 */
export function createProcessMetrics(health: Health): () => Promise<string> {
  let registry: Promise<() => Promise<string>> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  // One scrape after the other: each takes what was sampled since the one before.
  return () => {
    const text = last.then(async () => {
      registry ??= buildRegistry(health);
      const render = await registry;
      return render();
    });
    last = text.catch(() => {
      registry = undefined; // built anew the next time
    });
    return text;
  };
}

async function buildRegistry(health: Health): Promise<() => Promise<string>> {
  const { collectDefaultMetrics, Counter, Gauge, Registry } = await import('prom-client');
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: HARDLY_EVER_MS });
  const sampleLag = registerEventLoopLag(Gauge, registry);
  for (const [name, help, microseconds] of CPU_TIMES) {
    // prom-client's own counts from when it was loaded; this one counts from the start of the process.
    registry.removeSingleMetric(name);
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(microseconds(process.cpuUsage()) / 1e6);
      },
    });
  }
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
  return () => {
    sampleLag();
    return registry.metrics();
  };
}
