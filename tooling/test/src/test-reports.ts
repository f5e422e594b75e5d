import { existsSync, globSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** The report of each package's vitest: of `test:abuse` it is `test-abuse-report.json`. */
const reportOf = (task: string) => `${task.replaceAll(':', '-')}-report.json`;

interface PackageOutcome {
  readonly name: string;
  readonly passed: number;
  readonly failed: number;
  readonly failures: readonly Failure[];
}

interface Failure {
  /** The test's full name, or the file's where the file could not be run. */
  readonly name: string;
  readonly message: string;
}

/** The part of vitest's JSON report that is read here. */
interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** The part of a package.json that is read here. */
interface Manifest {
  readonly name: string;
  readonly scripts?: Readonly<Record<string, string>>;
}

// The files are package.json files and vitest's reports, in the form that the caller names.
const readJson = <Form>(file: string): Form => JSON.parse(readFileSync(file, 'utf8'));

const testedPackages = (root: string, task: string) =>
  globSync('{apps,packages,tooling}/*/package.json', { cwd: root })
    .map((file) => ({
      folder: join(root, dirname(file)),
      manifest: readJson<Manifest>(join(root, file)),
    }))
    .filter(({ manifest }) => manifest.scripts?.[task] !== undefined)
    .sort((a, b) => a.manifest.name.localeCompare(b.manifest.name));

/**
 * Removes old reports, so that none counts for this run; turbo restores those of the packages that it replays.
 *
 * @param root the folder that holds `apps`, `packages` and `tooling`
 * @param task the script that is run in each package that has it
 */
export function clearReports(root: string, task: string): void {
  for (const { folder } of testedPackages(root, task)) rmSync(join(folder, reportOf(task)), { force: true });
}

/**
 * The outcome of each package that was run. Reports contain neither errors outside of tests nor packages that could not be
 * run: if the run failed but no test did, the run itself counts as one failure.
 *
 * @param root the folder that holds `apps`, `packages` and `tooling`
 * @param task the script that was run
 * @param status the exit code of the run; `null` where a signal ended it
 */
export function readOutcomes(root: string, task: string, status: number | null): readonly PackageOutcome[] {
  const outcomes: PackageOutcome[] = [];
  const unreported: string[] = [];
  for (const { folder, manifest } of testedPackages(root, task)) {
    const file = join(folder, reportOf(task));
    if (existsSync(file)) outcomes.push(readOutcome(root, manifest.name, file));
    else unreported.push(manifest.name);
  }
  if (status !== 0 && outcomes.every(({ failed }) => failed === 0)) outcomes.push(failureOutsideOfTests(unreported));
  return outcomes;
}

function failureOutsideOfTests(unreported: readonly string[]): PackageOutcome {
  const missing = unreported.length === 0 ? '' : `\nThere is no report of ${unreported.join(', ')}.`;
  const message = `Look above for an error outside of any test, or a package whose tests could not be run.${missing}`;
  return { name: 'The run', passed: 0, failed: 1, failures: [{ name: 'failed, and no test did', message }] };
}

function readOutcome(root: string, name: string, file: string): PackageOutcome {
  let report: VitestReport;
  try {
    report = readJson(file);
  } catch (error) {
    const failure = { name: `${relative(root, file)} cannot be read`, message: String(error) };
    return { name, passed: 0, failed: 1, failures: [failure] };
  }
  const failures = report.testResults
    .filter(({ status }) => status === 'failed')
    .flatMap((tests): readonly Failure[] => {
      const failed = tests.assertionResults.filter((test) => test.status === 'failed');
      // A file that could not be loaded has no failed test, and counts as one failure.
      if (failed.length === 0) return [{ name: relative(root, tests.name), message: tests.message }];
      return failed.map((test) => ({ name: test.fullName, message: test.failureMessages.join('\n') }));
    });
  return { name, passed: report.numPassedTests, failed: failures.length, failures };
}

/** Prints what failed, a line for each package, and the sum as the last line. @returns how many failed */
export function printOutcomes(outcomes: readonly PackageOutcome[]): number {
  const width = Math.max(0, ...outcomes.map(({ name }) => name.length));
  console.log();
  // Again here, as the output of the tests is far above.
  for (const { name, failures } of outcomes) {
    for (const failure of failures) console.log(`${name}: ${failure.name}\n${indent(failure.message)}\n`);
  }
  for (const { name, passed, failed } of outcomes) {
    console.log(`${name.padEnd(width)}  ${passed} passed, ${failed} failed`);
  }
  const sum = (of: (outcome: PackageOutcome) => number) => outcomes.reduce((total, outcome) => total + of(outcome), 0);
  const failed = sum((outcome) => outcome.failed);
  console.log(`\n${sum((outcome) => outcome.passed)} passed, ${failed} failed`);
  return failed;
}

const indent = (text: string) => text.replaceAll(/^/gm, '    ');
