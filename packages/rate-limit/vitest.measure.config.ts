import { definePackageTests } from '@petstore/testing/vitest-preset';

const { test } = definePackageTests();

/** Measures what docs/rate-limiting.md says of sizes and loads; nothing else should run meanwhile. */
export default {
  test: { ...test, include: ['test/measure/*.measure.ts'], reporters: ['default'], testTimeout: 600_000 },
};
