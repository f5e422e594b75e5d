/**
 * The whole test run: sees that a Redis server, a browser and curl are there, runs `turbo run test`, and ends with the
 * sum of all packages. Arguments go to turbo, as in `pnpm test --filter=@petstore/domain` or `pnpm test --force`.
 */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { ensureNeededPrograms } from './needed-programs.ts';
import { clearReports, printOutcome, readOutcomes } from './test-reports.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

const complaint = ensureNeededPrograms();
if (complaint !== undefined) {
  console.error(complaint);
  process.exit(1);
}

clearReports(ROOT);
const turbo = spawnSync('turbo', ['run', 'test', '--continue=dependencies-successful', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { TURBO_TELEMETRY_DISABLED: '1', ...process.env },
});
if (turbo.error) throw turbo.error;

const failed = printOutcome(readOutcomes(ROOT, turbo.status));
process.exitCode = failed === 0 ? 0 : 1;
