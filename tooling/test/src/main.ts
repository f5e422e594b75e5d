/**
 * The test command: makes sure that a Redis server, a browser, curl and PgBouncer are there, runs one turbo task in every package that
 * has it, and ends with the sum of all packages. The task is `test`, or that of `--task=NAME` as the first argument. Other
 * arguments are turbo's, as in `pnpm test --filter=@petstore/domain` or `pnpm test --force`.
 */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { ensureNeededPrograms } from './needed-programs.ts';
import { clearReports, printOutcomes, readOutcomes } from './test-reports.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
/** For turbo's programs, pnpm and vitest among them, which would compile their code at each start. */
const COMPILE_CACHE = resolve(ROOT, 'node_modules/.cache/compiled');

const [first = '', ...others] = process.argv.slice(2);
const named = /^--task=(.+)$/.exec(first)?.[1];
const [task, turboArguments] = named === undefined ? ['test', process.argv.slice(2)] : [named, others];

function refuse(message: string, exitCode: number): never {
  console.error(message);
  process.exit(exitCode);
}

if (turboArguments.some((argument) => argument === '--watch' || argument === '-w')) {
  const filters = turboArguments.filter((argument) => argument.startsWith('--filter'));
  const command = ['pnpm exec turbo watch', task, ...filters].join(' ');
  refuse(`This command runs the tests once. To run them after each change: ${command}`, 2);
}
const missing = ensureNeededPrograms(task);
if (missing !== undefined) refuse(missing, 1);

clearReports(ROOT, task);
const turbo = spawnSync('turbo', ['run', task, '--continue=dependencies-successful', ...turboArguments], {
  stdio: 'inherit',
  env: { TURBO_TELEMETRY_DISABLED: '1', NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env },
});
if (turbo.error) throw turbo.error;

const failed = printOutcomes(readOutcomes(ROOT, task, turbo.status));
process.exitCode = failed === 0 ? 0 : 1;
