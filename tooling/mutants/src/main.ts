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
/** Of vitest: far more than it prints. */
const OUTPUT_MAX_BYTES = 100_000_000;

/** @throws Error with the program's output if it fails */
function run(program: string, args: readonly string[], folder: string): void {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw error ?? new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`);
}

/**
 * Runs test files, or all of a package if none are named.
 *
 * @returns the first test that fails, such as `test/ids.test.ts > ids > is canonical`; `undefined` if all of them pass
 */
function findFailure(checkout: string, tests: string, files: readonly string[]): string | undefined {
  const vitest = join(checkout, tests, 'node_modules/vitest/vitest.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [vitest, 'run', '--bail', '1', ...files], {
    cwd: join(checkout, tests),
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
    maxBuffer: OUTPUT_MAX_BYTES,
    timeout: TESTS_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  if (status === 0) return undefined;
  return /FAIL +(test\/.*)/.exec(stdout + stderr)?.[1] ?? 'no test: the run itself failed, or took too long';
}

/** @returns what is wrong with the list, a line each */
function findMistakes(checkout: string, mutants: readonly Mutant[]): readonly string[] {
  return mutants.flatMap(({ name, file, from, tests, first }) => {
    const gone = first.filter((test) => !existsSync(join(checkout, tests, test)));
    const count = existsSync(join(checkout, file))
      ? readFileSync(join(checkout, file), 'utf8').split(from).length - 1
      : 0;
    return [
      ...gone.map((test) => `${name}: there is no ${join(tests, test)}`),
      ...(count === 1 ? [] : [`${name}: its text occurs ${count} times in ${file}`]),
    ];
  });
}

/** @returns what fails although nothing is broken: such tests would seem to notice everything */
function findFailing(checkout: string, mutants: readonly Mutant[]): readonly string[] {
  const packages = Map.groupBy(mutants, ({ tests }) => tests);
  return [...packages].flatMap(([tests, those]) => {
    const files = [...new Set(those.flatMap(({ first }) => first))];
    const failure = files.length === 0 ? undefined : findFailure(checkout, tests, files);
    return failure === undefined ? [] : [`Fails although nothing is broken: ${tests}, ${failure}`];
  });
}

/** Breaks one thing, and repairs it afterwards. @returns the test that noticed */
function tryMutant(checkout: string, mutant: Mutant): string | undefined {
  const path = join(checkout, mutant.file);
  const text = readFileSync(path, 'utf8');
  let noticed: string | undefined;
  writeFileSync(
    path,
    text.replace(mutant.from, () => mutant.to),
  );
  try {
    if (mutant.first.length > 0) noticed = findFailure(checkout, mutant.tests, mutant.first);
    if (noticed !== undefined) return noticed;
    noticed = findFailure(checkout, mutant.tests, []);
  } finally {
    writeFileSync(path, text);
  }
  // Of the other files it is not known yet that they pass without the breakage.
  const [file] = noticed?.split(' ') ?? [];
  return file?.startsWith('test/') && findFailure(checkout, mutant.tests, [file]) === undefined ? noticed : undefined;
}

/** @returns how many were not noticed */
function tryAll(checkout: string, mutants: readonly Mutant[]): number {
  let survived = 0;
  for (const [i, mutant] of mutants.entries()) {
    const noticed = tryMutant(checkout, mutant);
    if (noticed === undefined) survived++;
    const outcome = noticed === undefined ? `SURVIVED: ${mutant.name}` : `caught: ${mutant.name}\n    by ${noticed}`;
    console.log(`${i + 1}/${mutants.length} ${mutant.tests} ${outcome}`);
  }
  console.log(`${mutants.length - survived} caught, ${survived} survived`);
  return survived;
}

/** @returns whether enough was noticed */
function runIn(checkout: string, wanted: string): boolean {
  run('git', ['worktree', 'add', '--detach', checkout, 'HEAD'], ROOT);
  const mutants = MUTANTS.filter(({ name, file }) => `${name} ${file}`.toLowerCase().includes(wanted.toLowerCase()));
  const mistakes = mutants.length === 0 ? [`No breakage is called ${wanted}.`] : findMistakes(checkout, mutants);
  for (const mistake of mistakes) console.error(mistake);
  if (mistakes.length > 0) return false;
  run('pnpm', ['install', '--frozen-lockfile', '--prefer-offline'], checkout);
  console.log('First the tests that are likely to notice run without a breakage.');
  const failing = findFailing(checkout, mutants);
  for (const failure of failing) console.error(failure);
  return failing.length === 0 && tryAll(checkout, mutants) <= SURVIVORS_MAX;
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
