import { definePackageTests } from '@petstore/testing/vitest-preset';

export default definePackageTests({
  longest: ['migrations', 'list-orders', 'connections'],
  maxWorkers: 6, // most files wait for what a time limit ends
});
