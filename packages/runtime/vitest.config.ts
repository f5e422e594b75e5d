import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// Not the preset of packages/testing, which itself stands on this package.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Tests start dozens of short processes, and compiled code halves what each takes.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compile') },
    globalSetup: ['test/support/make-seed.ts'],
    reporters: ['default', ['json', { outputFile: 'test-report.json' }]],
    // To notice a test that hangs, and nothing else: on a busy machine PostgreSQL takes many times as long.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: Math.max(2, availableParallelism() - 1),
    isolate: false,
    allowOnly: false,
  },
});
