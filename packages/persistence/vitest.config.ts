import { definePackageTests } from '@petstore/testing/vitest-preset';
import { mergeConfig } from 'vitest/config';

// Most files wait for what a time limit ends: six at a time keep two cores at work.
export default mergeConfig(definePackageTests({ longest: ['migrations', 'list-orders', 'connections'] }), {
  test: { maxWorkers: 6 },
});
