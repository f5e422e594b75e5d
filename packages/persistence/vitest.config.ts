import { definePackageTests } from '@petstore/testing/vitest-preset';
import { mergeConfig } from 'vitest/config';

// Most files wait for what a time limit ends: six at a time keep two cores at work, and within a file PostgreSQL is
// tried by every way that leads to it side by side.
export default mergeConfig(
  definePackageTests({ longest: ['failover', 'availability', 'replica', 'list-orders', 'migrations'] }),
  {
    test: { maxConcurrency: 40, maxWorkers: 6 },
  },
);
