import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { clearReports, printOutcomes, readOutcomes } from '../src/test-reports.ts';

const VITEST = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');

const PASSING = `test('adds', () => expect(1 + 1).toBe(2));`;
const FAILING = `describe('sums', () => { test('are right', () => expect(1 + 1).toBe(3)); });`;
const NOT_LOADING = `throw new Error('no such world');`;
const FAILING_ELSEWHERE = `${PASSING} Promise.reject(new Error('not caught'));`;

/** A tree of packages that goes away with its scope. */
function createTree() {
  const root = mkdtempSync(join(tmpdir(), 'test-reports-'));
  const addPackage = (path: string, scripts: object = { test: 'vitest run' }) => {
    mkdirSync(join(root, path), { recursive: true });
    writeFileSync(join(root, path, 'package.json'), JSON.stringify({ name: `@shop/${path}`, scripts }));
    return join(root, path, 'test-report.json');
  };
  return {
    root,
    /** @returns where its report belongs */
    addPackage,
    /** Runs tests by the real vitest, which writes the report. @returns its exit code */
    runTests(path: string, sources: readonly string[]): number | null {
      const outputFile = addPackage(path);
      const folder = dirname(outputFile);
      for (const [i, source] of sources.entries()) writeFileSync(join(folder, `file-${i}.test.js`), source);
      const run = ['run', '--root', folder, '--globals', '--reporter=json', '--outputFile', outputFile];
      return spawnSync(process.execPath, [VITEST, ...run], { stdio: 'ignore' }).status;
    },
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** What is printed, line by line, and the number that is returned. */
function print(outcomes: ReturnType<typeof readOutcomes>) {
  const log = vi.spyOn(console, 'log').mockReturnValue();
  const failed = printOutcomes(outcomes);
  const lines = log.mock.calls.join('\n').split('\n');
  return { failed, lines, sum: lines.at(-1) };
}

afterEach(() => void vi.restoreAllMocks());

describe('of the reports that vitest writes', () => {
  test('tests that passed are summed over all packages', () => {
    using tree = createTree();
    expect(tree.runTests('packages/b', [PASSING, PASSING])).toBe(0);
    expect(tree.runTests('apps/a', [PASSING])).toBe(0);
    const outcomes = readOutcomes(tree.root, 'test', 0);
    expect(outcomes).toEqual([
      { name: '@shop/apps/a', passed: 1, failed: 0, failures: [] },
      { name: '@shop/packages/b', passed: 2, failed: 0, failures: [] },
    ]);
    expect(print(outcomes)).toEqual({
      failed: 0,
      lines: [
        '',
        '@shop/apps/a      1 passed, 0 failed',
        '@shop/packages/b  2 passed, 0 failed',
        '',
        '3 passed, 0 failed',
      ],
      sum: '3 passed, 0 failed',
    });
  });

  test('a failed test and a file that cannot be loaded are one failure each, and both are shown', () => {
    using tree = createTree();
    const status = tree.runTests('tooling/a', [PASSING, FAILING, NOT_LOADING]);
    expect(status).toBe(1);
    const outcomes = readOutcomes(tree.root, 'test', status);
    expect(outcomes).toEqual([
      {
        name: '@shop/tooling/a',
        passed: 1,
        failed: 2,
        failures: expect.arrayContaining([
          { name: 'sums are right', message: expect.stringContaining('expected 2 to be 3') },
          { name: 'tooling/a/file-2.test.js', message: expect.stringContaining('no such world') },
        ]),
      },
    ]);
    const { failed, lines, sum } = print(outcomes);
    expect(failed).toBe(2);
    expect(lines).toContain('@shop/tooling/a: sums are right');
    expect(lines).toContainEqual(expect.stringMatching(/^ {4}.*expected 2 to be 3/));
    expect(lines).toContain('@shop/tooling/a: tooling/a/file-2.test.js');
    expect(sum).toBe('1 passed, 2 failed');
  });

  test('an error outside of any test fails the run, though every test passed', () => {
    using tree = createTree();
    const status = tree.runTests('packages/a', [FAILING_ELSEWHERE]);
    expect(status).toBe(1);
    const outcomes = readOutcomes(tree.root, 'test', status);
    expect(outcomes).toMatchObject([
      { name: '@shop/packages/a', passed: 1, failed: 0 },
      { name: 'The run', passed: 0, failed: 1, failures: [{ message: expect.not.stringContaining('no report') }] },
    ]);
    expect(print(outcomes)).toMatchObject({ failed: 1, sum: '1 passed, 1 failed' });
  });
});

describe('a report', () => {
  test.each(['', '{"numPassedTests":7,"numFail'])('that ends too soon is a failure of its package: %j', (text) => {
    using tree = createTree();
    writeFileSync(tree.addPackage('packages/a'), text);
    const outcomes = readOutcomes(tree.root, 'test', 0);
    const name = 'packages/a/test-report.json cannot be read';
    expect(outcomes).toMatchObject([{ name: '@shop/packages/a', passed: 0, failed: 1, failures: [{ name }] }]);
    expect(print(outcomes)).toMatchObject({ failed: 1, sum: '0 passed, 1 failed' });
  });

  test.each([1, null])('that is missing is named where the run failed, with exit code %j', (status) => {
    using tree = createTree();
    tree.addPackage('packages/a');
    tree.addPackage('packages/b');
    tree.addPackage('packages/untested', { lint: 'biome check .' });
    const outcomes = readOutcomes(tree.root, 'test', status);
    expect(outcomes).toMatchObject([{ name: 'The run', passed: 0, failed: 1 }]);
    const { failed, lines, sum } = print(outcomes);
    expect(failed).toBe(1);
    expect(lines).toContain('    There is no report of @shop/packages/a, @shop/packages/b.');
    expect(sum).toBe('0 passed, 1 failed');
  });

  test('that is missing is no failure where the run passed: that package was not run', () => {
    using tree = createTree();
    tree.addPackage('packages/a');
    expect(readOutcomes(tree.root, 'test', 0)).toEqual([]);
  });

  test('is of one task: what another one left is neither read nor cleared away', () => {
    using tree = createTree();
    const report = tree.addPackage('packages/a', { test: 'vitest run', 'test:abuse': 'vitest run --config other.ts' });
    const abuseReport = join(dirname(report), 'test-abuse-report.json');
    tree.addPackage('packages/without', { test: 'vitest run' });
    writeFileSync(report, JSON.stringify({ numPassedTests: 7, numFailedTests: 0, testResults: [] }));
    writeFileSync(abuseReport, JSON.stringify({ numPassedTests: 2, numFailedTests: 0, testResults: [] }));
    expect(readOutcomes(tree.root, 'test', 0)).toMatchObject([{ passed: 7 }]);
    expect(readOutcomes(tree.root, 'test:abuse', 0)).toMatchObject([{ name: '@shop/packages/a', passed: 2 }]);
    clearReports(tree.root, 'test:abuse');
    expect([existsSync(report), existsSync(abuseReport)]).toEqual([true, false]);
    expect(print(readOutcomes(tree.root, 'test:abuse', 1)).lines).toContain(
      '    There is no report of @shop/packages/a.',
    );
  });

  test('of an earlier run is cleared away, and nothing else', () => {
    using tree = createTree();
    const report = tree.addPackage('packages/a');
    writeFileSync(report, '{}');
    clearReports(tree.root, 'test');
    expect(existsSync(report)).toBe(false);
    expect(existsSync(join(dirname(report), 'package.json'))).toBe(true);
  });
});
