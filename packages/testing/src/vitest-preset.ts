import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSequencerConstructor, type TestSpecification } from 'vitest/node';
import { findMemoryFolder } from './memory-folder.ts';

interface PackageTestOptions {
  /** Whether the tests use the real PostgreSQL and Redis of this package. @default true */
  readonly servers?: boolean;
  /**
   * Files of `test` that take longest, without `.test.ts`: they begin first, so that none runs alone at the end. Vitest
   * goes by their size where it has not run them before, and a test that waits is short.
   */
  readonly longest?: readonly string[];
  /**
   * The script that runs them. `test:abuse` are files `test/abuse/*.abuse.ts`, one after the other: they measure what
   * heavy use does to a server. `test:faults` are files `test/faults/*.faults.ts`: what callers see while parts of the
   * service fail or are silent for seconds. `test:deploy` are files `test/deploy/*.deploy.ts`: what is deployed, with the
   * programs that run it. `test:web` are files `test/web/*.web.ts`: what needs a browser.
   * @default 'test'
   */
  readonly task?: 'test' | 'test:abuse' | 'test:faults' | 'test:deploy' | 'test:web';
}

const TASKS = {
  test: { include: ['test/**/*.test.ts'], reports: 'test-report.json', timeoutMs: 60_000, fileParallelism: true },
  'test:abuse': {
    include: ['test/abuse/**/*.abuse.ts'],
    reports: 'test-abuse-report.json',
    timeoutMs: 600_000,
    fileParallelism: false,
  },
  'test:faults': {
    include: ['test/faults/**/*.faults.ts'],
    reports: 'test-faults-report.json',
    timeoutMs: 600_000,
    fileParallelism: false,
  },
  'test:deploy': {
    include: ['test/deploy/**/*.deploy.ts'],
    reports: 'test-deploy-report.json',
    timeoutMs: 120_000,
    fileParallelism: true,
  },
  'test:web': {
    include: ['test/web/**/*.web.ts'],
    reports: 'test-web-report.json',
    timeoutMs: 120_000,
    fileParallelism: true,
  },
} satisfies Record<NonNullable<PackageTestOptions['task']>, object>;

// Read by `tmpdir()` here, in the processes of the tests, and in the programs that these start.
const memoryFolder = findMemoryFolder();
// biome-ignore lint/style/noProcessEnv: the system's own variable
if (memoryFolder !== undefined) process.env['TMPDIR'] ??= memoryFolder;

/** The vitest configuration of every package: real servers, a report that the root's test command reads, no retries. */
export function definePackageTests(options: PackageTestOptions = {}): ViteUserConfig {
  const { servers = true, task = 'test', longest = [] } = options;
  const { include, reports, timeoutMs, fileParallelism } = TASKS[task];
  return defineConfig({
    test: {
      include,
      fileParallelism,
      // Vitest would leave a processor to itself, which on two of them is every other file: most tests wait for servers.
      maxWorkers: Math.max(2, availableParallelism() - 1),
      // A process for each file would spend more time on loading than most files spend on their tests.
      isolate: false,
      sequence: { sequencer: longestFirst(longest) },
      globalSetup: servers ? [fileURLToPath(new URL('./global-setup.ts', import.meta.url))] : [],
      reporters: ['default', ['json', { outputFile: reports }]],
      // To notice a test that hangs, and nothing else: on a busy machine a start of servers takes many times as long.
      testTimeout: timeoutMs,
      hookTimeout: 120_000,
      // Likewise: vitest would give a poll one second.
      expect: { poll: { timeout: 25_000, interval: 20 } },
      // Ending the servers may take as long.
      teardownTimeout: 60_000,
      retry: 0,
      // A test that is left out by mistake is a promise that is not kept.
      allowOnly: false,
      passWithNoTests: false,
    },
  });
}

const longestFirst = (names: readonly string[]): TestSequencerConstructor =>
  class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const sorted = await super.sort(files);
      const isLong = ({ moduleId }: TestSpecification) => names.some((name) => moduleId.endsWith(`/${name}.test.ts`));
      return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
    }
  };
