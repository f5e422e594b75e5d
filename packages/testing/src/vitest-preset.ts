import { accessSync, constants, readFileSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSequencerConstructor, type TestSpecification } from 'vitest/node';

interface PackageTestOptions {
  /** Whether the tests use the real PostgreSQL and Redis of this package. @default true */
  readonly servers?: boolean;
  /**
   * Files of `test` that take longest, without `.test.ts`: they begin first, so that none runs alone at the end. Vitest
   * goes by their size where it has not run them before, and a test that waits is short.
   */
  readonly longest?: readonly string[];
  /** Modules that prepare what all files share, by their paths. @default none */
  readonly globalSetup?: readonly string[];
  /** Variables of the processes that run tests. @default none */
  readonly env?: Readonly<Record<string, string>>;
  /** Options of Node for the processes that run tests. @default none */
  readonly execArgv?: readonly string[];
}

interface Suite {
  readonly include: string;
  /** The file of its results, which the root's test command reads. */
  readonly report: string;
  readonly timeoutMs: number;
  readonly fileParallelism: boolean;
}

/** The suites by the mode of vitest that runs them: `vitest run --mode faults`. Without one it is `test`. */
const SUITES: Readonly<Record<string, Suite>> = {
  test: { include: 'test/**/*.test.ts', report: 'test-report.json', timeoutMs: 60_000, fileParallelism: true },
  /** What heavy use does to a server, measured one file after the other. */
  abuse: {
    include: 'test/abuse/**/*.abuse.ts',
    report: 'test-abuse-report.json',
    timeoutMs: 600_000,
    fileParallelism: false,
  },
  /** What callers see while parts of the service fail or are silent for seconds. */
  faults: {
    include: 'test/faults/**/*.faults.ts',
    report: 'test-faults-report.json',
    timeoutMs: 600_000,
    fileParallelism: false,
  },
  /** What is deployed, with the programs that run it: builds of one file would delay what others measure. */
  deploy: {
    include: 'test/deploy/**/*.deploy.ts',
    report: 'test-deploy-report.json',
    timeoutMs: 120_000,
    fileParallelism: false,
  },
  /** What needs a browser. */
  web: {
    include: 'test/web/**/*.web.ts',
    report: 'test-web-report.json',
    timeoutMs: 120_000,
    fileParallelism: true,
  },
  /** What needs other runtimes, which it fetches from the registry. */
  runtimes: {
    include: 'test/runtimes/*.runtimes.ts',
    report: 'test-runtimes-report.json',
    timeoutMs: 120_000,
    fileParallelism: true,
  },
};

/** The modes of programs that read the configuration and run no test: knip finds the files of all suites. */
const READ_ONLY_MODES = ['development', 'production'];

const MEMORY_FOLDER = '/dev/shm';

/** More than the tests of a package write. */
const NEEDED_BYTES = 4 * 2 ** 30;

/**
 * A folder in memory for temporary files, if there is one: Linux has it, but it may be too small or forbid programs.
 * Hundreds of databases are made and dropped in a run, and a file system on a disk can take a third of the run's
 * processor time for their files.
 */
function findMemoryFolder(): string | undefined {
  try {
    accessSync(MEMORY_FOLDER, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    const mount = /^\S+ \/dev\/shm \S+ (\S+)/m.exec(readFileSync('/proc/mounts', 'utf8'));
    const mayRunPrograms = mount !== null && !mount[1]?.split(',').includes('noexec');
    return mayRunPrograms && bavail * bsize >= NEEDED_BYTES ? MEMORY_FOLDER : undefined;
  } catch {
    return undefined; // another system
  }
}

// Read by `tmpdir()` here, in the processes of the tests, and in the programs that these start.
const memoryFolder = findMemoryFolder();
// biome-ignore lint/style/noProcessEnv: the system's own variable
if (memoryFolder !== undefined) process.env['TMPDIR'] ??= memoryFolder;

/** The vitest configuration of every package: real servers, a report that the root's test command reads, no retries. */
export const definePackageTests = (options: PackageTestOptions = {}) =>
  defineConfig(({ mode }) => configOf(options, mode));

/** @throws Error if there is no suite of this mode */
function configOf(options: PackageTestOptions, mode: string): ViteUserConfig {
  const { servers = true, longest = [], globalSetup = [], env = {}, execArgv = [] } = options;
  if (READ_ONLY_MODES.includes(mode)) return { test: { include: Object.values(SUITES).map(({ include }) => include) } };
  const suite = SUITES[mode];
  if (suite === undefined)
    throw new Error(`There is no suite "${mode}": --mode is one of ${Object.keys(SUITES).join(', ')}`);
  const { include, report, timeoutMs, fileParallelism } = suite;
  return {
    test: {
      include: [include],
      fileParallelism,
      // Vitest would leave a processor to itself, which on two of them is every other file: most tests wait for servers.
      maxWorkers: Math.max(2, availableParallelism() - 1),
      execArgv: [...execArgv],
      // A process for each file would spend more time on loading than most files spend on their tests.
      isolate: false,
      sequence: { sequencer: longestFirst(longest) },
      globalSetup: [...(servers ? [fileURLToPath(new URL('./global-setup.ts', import.meta.url))] : []), ...globalSetup],
      env: { ...env },
      reporters: ['default', ['json', { outputFile: report }]],
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
  };
}

const longestFirst = (names: readonly string[]): TestSequencerConstructor =>
  class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const sorted = await super.sort(files);
      const isLong = ({ moduleId }: TestSpecification) => names.some((name) => moduleId.endsWith(`/${name}.test.ts`));
      return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
    }
  };
