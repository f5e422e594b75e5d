import { fileURLToPath } from 'node:url';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

interface PackageTestOptions {
  /** Whether the tests use the real PostgreSQL and Redis of this package. @default true */
  readonly servers?: boolean;
}

/** The vitest configuration of every package: real servers, a report that the root's test command reads, no retries. */
export function definePackageTests({ servers = true }: PackageTestOptions = {}): ViteUserConfig {
  return defineConfig({
    test: {
      include: ['test/**/*.test.ts'],
      globalSetup: servers ? [fileURLToPath(new URL('./global-setup.ts', import.meta.url))] : [],
      reporters: ['default', ['json', { outputFile: 'test-report.json' }]],
      // To notice a test that hangs, and nothing else: on a busy machine a start of servers takes many times as long.
      testTimeout: 60_000,
      hookTimeout: 120_000,
      // Ending the servers may take as long.
      teardownTimeout: 60_000,
      retry: 0,
      // A test that is left out by mistake is a promise that nobody keeps.
      allowOnly: false,
      passWithNoTests: false,
    },
  });
}
