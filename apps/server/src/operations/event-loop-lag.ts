import { type ELDHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Gauge, Registry } from 'prom-client';

/** How often the delay is sampled. prom-client's 10 ms would itself be load. */
const SAMPLING_MS = 100;

/** The names and texts are prom-client's, which dashboards know. */
const LAG_STATISTICS: readonly (readonly [name: string, help: string, nanoseconds: (h: ELDHistogram) => number])[] = [
  ['min', 'The minimum recorded event loop delay.', (h) => delayOf(h.min)],
  ['max', 'The maximum recorded event loop delay.', (h) => delayOf(h.max)],
  ['mean', 'The mean of the recorded event loop delays.', (h) => delayOf(h.mean)],
  ['stddev', 'The standard deviation of the recorded event loop delays.', (h) => h.stddev],
  ['p50', 'The 50th percentile of the recorded event loop delays.', (h) => delayOf(h.percentile(50))],
  ['p90', 'The 90th percentile of the recorded event loop delays.', (h) => delayOf(h.percentile(90))],
  ['p99', 'The 99th percentile of the recorded event loop delays.', (h) => delayOf(h.percentile(99))],
];

/** Node records the time between two samples: on an idle loop that is the pace, and no delay at all. */
const delayOf = (intervalNs: number): number => Math.max(0, intervalNs - SAMPLING_MS * 1e6);

/**
 * Registers the event loop's lag in place of prom-client's own, which tells of 2^63 ns and of no number where it has no
 * sample yet, and of its pace as a delay.
 *
 * @returns call it before each scrape: it takes over what was sampled since the last call, and leaves out what was not
 */
export function registerEventLoopLag(GaugeClass: typeof Gauge, registry: Registry): () => void {
  const register = (name: string, help: string, collect?: (this: Gauge) => Promise<void>) => {
    registry.removeSingleMetric(name);
    return new GaugeClass({ name, help, registers: [registry], ...(collect && { collect }) });
  };
  register('nodejs_eventloop_lag_seconds', 'Lag of event loop in seconds.', async function () {
    const startMs = performance.now();
    await nextTurn();
    this.set((performance.now() - startMs) / 1_000);
  });
  const histogram = monitorEventLoopDelay({ resolution: SAMPLING_MS });
  histogram.enable();
  const statistics = LAG_STATISTICS.map(
    ([name, help, read]) => [register(`nodejs_eventloop_lag_${name}_seconds`, help), read] as const,
  );
  return () => {
    for (const [gauge, read] of statistics) {
      if (histogram.count === 0) gauge.remove();
      else gauge.set(read(histogram) / 1e9);
    }
    histogram.reset();
  };
}
