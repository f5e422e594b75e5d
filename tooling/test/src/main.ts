/**
 * The test command: makes sure that a Redis server and what else the tests run are there, runs one turbo task in every
 * package that has it, and ends with the sum of all packages. The task is `test`, or that of `--task=NAME` as the first
 * argument. With `--install`, or if CI is set, programs that are missing are installed. Other arguments are turbo's, as in
 * `pnpm test --filter=@petstore/domain` or `pnpm test --force`.
 */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { ensureRedis } from './ensure-redis.ts';
import { ensureNeededPrograms } from './needed-programs.ts';
import { clearReports, printOutcomes, readOutcomes } from './test-reports.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const INSTALL = '--install';
/** For turbo's programs, pnpm and vitest among them, which would compile their code at each start. */
const COMPILE_CACHE = resolve(ROOT, 'node_modules/.cache/compiled');

const given = process.argv.slice(2);
const named = /^--task=(.+)$/.exec(given[0] ?? '')?.[1];
const task = named ?? 'test';
const turboArguments = given.slice(named === undefined ? 0 : 1).filter((argument) => argument !== INSTALL);

function refuse(message: string, exitCode: number): never {
  console.error(message);
  process.exit(exitCode);
}

if (turboArguments.some((argument) => argument === '--watch' || argument === '-w')) {
  const filters = turboArguments.filter((argument) => argument.startsWith('--filter'));
  const command = ['pnpm exec turbo watch', task, ...filters].join(' ');
  refuse(`This command runs the tests once. To run them after each change: ${command}`, 2);
}
const { CI, PETSTORE_TEST_POSTGRES: postgresFolder, PETSTORE_TEST_REDIS: redis } = process.env;
const mayInstall = given.includes(INSTALL) || !['', '0', 'false'].includes(CI ?? '');
const missing = ensureRedis() ?? ensureNeededPrograms(task, { mayInstall, postgresFolder, redis });
if (missing !== undefined) refuse(missing, 1);

// One package more than there are processors, which turbo runs at once by itself: most tests wait for servers.
const concurrency = turboArguments.some((argument) => argument.startsWith('--concurrency'))
  ? []
  : [`--concurrency=${availableParallelism() + 1}`];
clearReports(ROOT, task);
const turbo = spawnSync(
  'turbo',
  ['run', task, '--continue=dependencies-successful', ...concurrency, ...turboArguments],
  {
    stdio: 'inherit',
    env: { TURBO_TELEMETRY_DISABLED: '1', NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env },
  },
);
if (turbo.error) throw turbo.error;

const failed = printOutcomes(readOutcomes(ROOT, task, turbo.status));
process.exitCode = failed === 0 ? 0 : 1;
