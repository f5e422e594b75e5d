import { definePackageTests } from '@petstore/testing/vitest-preset';
import { mergeConfig } from 'vitest/config';

// Most files wait for PostgreSQL, or for a process: three at a time keep two cores at work.
export default mergeConfig(definePackageTests({ longest: ['memory', 'usage', 'interruption', 'embedded'] }), {
  test: { maxWorkers: 3 },
});
