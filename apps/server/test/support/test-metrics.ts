import { Metrics } from '../../src/operations/metrics.ts';

/** The metrics of a server without operations. */
export const createTestMetrics = (): Metrics =>
  new Metrics({ commit: undefined, operations: [], deprecatedOperations: [], sunsetAt: new Date(0) });
