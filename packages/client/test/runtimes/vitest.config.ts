import { join } from 'node:path';
import { definePackageTests } from '@petstore/testing/vitest-preset';

const { test } = definePackageTests();

// Not among the tests of every day, because it fetches whole runtimes from the registry.
export default {
  test: {
    ...test,
    root: join(import.meta.dirname, '../..'),
    include: ['test/runtimes/*.runtimes.ts'],
    reporters: ['verbose'],
  },
};
