import { definePackageTests } from '@petstore/testing/vitest-preset';

export default definePackageTests({
  longest: ['resources', 'usage', 'interruption', 'embedded'],
  maxWorkers: 3, // most files wait for PostgreSQL, or for a process
});
