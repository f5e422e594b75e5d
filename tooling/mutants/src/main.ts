/**
 * Breaks the service on purpose, in one place at a time, and runs the tests that should notice. It works in a copy of the last
 * commit, which is removed at the end. `pnpm mutants TEXT` tries those whose name or file contains the text.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { MUTANTS, type Mutant } from './mutants.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
/** How many may go unnoticed. */
const SURVIVORS_MAX = 5;
/** A breakage that makes tests wait for ever is noticed, too. */
const TESTS_TIMEOUT_MS = 600_000;

type Outcome = 'caught' | 'SURVIVED';

/** @throws Error with the program's output if it fails */
function run(program: string, args: readonly string[], folder: string): void {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw error ?? new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`);
}

/** @returns whether the tests pass: the named files, or all of the package if there are none */
function testsPass(copy: string, tests: string, files: readonly string[]): boolean {
  const vitest = join(copy, tests, 'node_modules/vitest/vitest.mjs');
  const { status } = spawnSync(process.execPath, [vitest, 'run', '--bail', '1', ...files], {
    cwd: join(copy, tests),
    stdio: 'ignore',
    timeout: TESTS_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  return status === 0;
}

const remaining = (copy: string, { tests, first }: Mutant): readonly string[] =>
  first.filter((file) => existsSync(join(copy, tests, file)));

/** @returns what is wrong with the list, a line each */
function findMistakes(copy: string, mutants: readonly Mutant[]): readonly string[] {
  return mutants.flatMap(({ name, file, from }) => {
    const count = existsSync(join(copy, file)) ? readFileSync(join(copy, file), 'utf8').split(from).length - 1 : 0;
    return count === 1 ? [] : [`${name}: its text occurs ${count} times in ${file}`];
  });
}

/** @returns the packages whose tests fail although nothing is broken: they would seem to notice everything */
function findFailing(copy: string, mutants: readonly Mutant[]): readonly string[] {
  const packages = Map.groupBy(mutants, ({ tests }) => tests);
  return [...packages]
    .filter(([tests, those]) => {
      const files = [...new Set(those.flatMap((mutant) => remaining(copy, mutant)))];
      return files.length > 0 && !testsPass(copy, tests, files);
    })
    .map(([tests]) => `${tests}: its tests fail although nothing is broken`);
}

/** Breaks one thing, and repairs it afterwards. */
function tryMutant(copy: string, mutant: Mutant): Outcome {
  const path = join(copy, mutant.file);
  const text = readFileSync(path, 'utf8');
  writeFileSync(
    path,
    text.replace(mutant.from, () => mutant.to),
  );
  try {
    const files = remaining(copy, mutant);
    const isCaught = (files.length > 0 && !testsPass(copy, mutant.tests, files)) || !testsPass(copy, mutant.tests, []);
    return isCaught ? 'caught' : 'SURVIVED';
  } finally {
    writeFileSync(path, text);
  }
}

/** @returns how many were not noticed */
function tryAll(copy: string, mutants: readonly Mutant[]): number {
  let survived = 0;
  for (const [i, mutant] of mutants.entries()) {
    const beganMs = performance.now();
    const outcome = tryMutant(copy, mutant);
    if (outcome === 'SURVIVED') survived++;
    const seconds = Math.round((performance.now() - beganMs) / 1_000);
    console.log(`${i + 1}/${mutants.length} ${outcome}: ${mutant.name} (${mutant.tests}, ${seconds} s)`);
  }
  console.log(`${mutants.length - survived} caught, ${survived} survived`);
  return survived;
}

/** @returns whether enough was noticed */
function runIn(copy: string, wanted: string): boolean {
  run('git', ['worktree', 'add', '--detach', copy, 'HEAD'], ROOT);
  const mutants = MUTANTS.filter(({ name, file }) => `${name} ${file}`.toLowerCase().includes(wanted.toLowerCase()));
  const mistakes = mutants.length === 0 ? [`No breakage is called ${wanted}.`] : findMistakes(copy, mutants);
  if (mistakes.length === 0) run('pnpm', ['install', '--frozen-lockfile', '--prefer-offline'], copy);
  const reasons = mistakes.length > 0 ? mistakes : findFailing(copy, mutants);
  for (const reason of reasons) console.error(reason);
  return reasons.length === 0 && tryAll(copy, mutants) <= SURVIVORS_MAX;
}

const folder = mkdtempSync(join(tmpdir(), 'petstore-mutants-'));
chmodSync(folder, 0o755); // to root, embedded PostgreSQL runs as another user, who reads its programs there
const checkout = join(folder, 'checkout');
try {
  process.exitCode = runIn(checkout, process.argv.slice(2).join(' ')) ? 0 : 1;
} finally {
  spawnSync('git', ['worktree', 'remove', '--force', checkout], { cwd: ROOT });
  rmSync(folder, { recursive: true, force: true });
}
