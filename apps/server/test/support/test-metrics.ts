import { Metrics } from '../../src/operations/metrics.ts';

/** The metrics of a server whose commit is not known, and whose operations end when their contracts say. */
export const createTestMetrics = (): Metrics => new Metrics({ commit: undefined, sunsetOverrides: {} });
