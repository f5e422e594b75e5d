/**
 * A whole run: sees that a Redis server, a browser and curl are there, runs one task of turbo over every package that has
 * it, and ends with the sum of all packages. The task is `test`, or what `--task=NAME` says as the first argument. Other
 * arguments go to turbo, as in `pnpm test --filter=@petstore/domain` or `pnpm test --force`.
 */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { ensureNeededPrograms } from './needed-programs.ts';
import { clearReports, printOutcome, readOutcomes } from './test-reports.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

const [first = '', ...others] = process.argv.slice(2);
const named = /^--task=(.+)$/.exec(first)?.[1];
const [task, turboArguments] = named === undefined ? ['test', process.argv.slice(2)] : [named, others];

const complaint = ensureNeededPrograms();
if (complaint !== undefined) {
  console.error(complaint);
  process.exit(1);
}

clearReports(ROOT, task);
const turbo = spawnSync('turbo', ['run', task, '--continue=dependencies-successful', ...turboArguments], {
  stdio: 'inherit',
  env: { TURBO_TELEMETRY_DISABLED: '1', ...process.env },
});
if (turbo.error) throw turbo.error;

const failed = printOutcome(readOutcomes(ROOT, task, turbo.status));
process.exitCode = failed === 0 ? 0 : 1;
