import { definePackageTests } from '@petstore/testing/vitest-preset';

export default definePackageTests({
  maxWorkers: 3, // most files wait for Redis to come back
});
