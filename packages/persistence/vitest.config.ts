import { definePackageTests } from '@petstore/testing/vitest-preset';
import { mergeConfig } from 'vitest/config';

// Most files wait for what a time limit ends: four at a time need no more than two cores, and within a file PostgreSQL is
// tried by every way that leads to it side by side.
export default mergeConfig(definePackageTests({ longest: ['failover', 'replica', 'availability'] }), {
  test: { maxConcurrency: 40, maxWorkers: 4 },
});
