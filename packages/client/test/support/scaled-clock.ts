import type { ClientClock } from '../../src/rest.ts';

/** A clock that runs faster than the real one, so that real requests meet long waits in a short test. */
export function scaledClock(factor: number): ClientClock {
  const startMs = Date.now();
  const startedAt = performance.now();
  return {
    now: () => startMs + (performance.now() - startedAt) * factor,
    schedule(callback, delayMs) {
      const timer = setTimeout(callback, Math.ceil(delayMs / factor) + 1);
      return () => clearTimeout(timer);
    },
  };
}
