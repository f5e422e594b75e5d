import type { ClientClock } from '../../src/rest.ts';
import { systemClock } from '../../src/transport/clock.ts';

/** The real clock, only faster, so that real requests meet long waits in a short test. */
export function scaledClock(factor: number): ClientClock {
  const startMs = systemClock.now();
  return {
    now: () => startMs + (systemClock.now() - startMs) * factor,
    schedule: (callback, delayMs) => systemClock.schedule(callback, delayMs / factor),
  };
}
