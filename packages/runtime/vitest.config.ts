import { join } from 'node:path';
// By its path: @petstore/testing depends on this package.
import { definePackageTests } from '../testing/src/vitest-preset.ts';

export default definePackageTests({
  servers: false,
  globalSetup: ['test/support/make-seed.ts'],
  // Tests start dozens of short processes, and compiled code halves what each takes.
  env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compile') },
});
