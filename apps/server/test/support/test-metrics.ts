import { Metrics } from '../../src/operations/metrics.ts';

/** The metrics of a server whose commit is not known. */
export const createTestMetrics = (): Metrics => new Metrics({ commit: undefined, petsSunsetAt: new Date(0) });
