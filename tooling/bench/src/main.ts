/** The benchmark: the service beside a hand-written baseline, on a PostgreSQL and a Redis of its own. See docs/performance.md. */
import { constants, cpus } from 'node:os';
import { checkResponses } from './check-responses.ts';
import { type BenchEnvironment, openBenchEnvironment } from './environment/bench-environment.ts';
import { type BenchOptions, readArguments, USAGE, UsageError } from './read-arguments.ts';
import { type Result, renderTables } from './report.ts';
import { SCENARIO_NAMES, SCENARIOS, type ScenarioName } from './scenarios/scenarios.ts';

/** Runs the scenarios and prints their results, until they are done or a signal comes. @returns the exit code */
async function bench(options: BenchOptions<ScenarioName>): Promise<number> {
  const interrupted = Promise.withResolvers<number>();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.resolve(128 + constants.signals[signal]));
  }
  await using environment = await openBenchEnvironment(options);
  const done = measure(environment, options);
  // After a signal it still runs, and fails because its servers have ended.
  done.catch(() => {});
  return await Promise.race([done, interrupted.promise]);
}

/** @returns the exit code: 1 where a scenario failed */
async function measure(environment: BenchEnvironment, options: BenchOptions<ScenarioName>): Promise<number> {
  environment.showProgress('comparing the responses of both');
  await checkResponses(environment);
  const results: Result[] = [];
  const failures: string[] = [];
  for (const name of options.scenarios) {
    environment.showProgress(name);
    try {
      results.push(await SCENARIOS[name](environment));
    } catch (error) {
      if (environment.isClosed) throw error;
      failures.push(`${name} failed: ${error instanceof Error ? error.message : error}`);
    }
  }
  const machine = `${cpus().length} x ${cpus()[0]?.model.trim() ?? 'unknown processor'}, Node ${process.versions.node}`;
  console.log(`${renderTables(results)}\n\n${machine}; rounds: ${options.rounds} of ${options.seconds} s each.`);
  if (failures.length === 0) return 0;
  console.error(failures.join('\n'));
  return 1;
}

try {
  const options = readArguments(process.argv.slice(2), SCENARIO_NAMES);
  if (options === undefined) console.log(`${USAGE}\nScenarios: ${SCENARIO_NAMES.join(', ')}`);
  else process.exitCode = await bench(options);
} catch (error) {
  const isUsage = error instanceof UsageError;
  console.error(isUsage ? `${error.message}\n\n${USAGE}` : error);
  process.exitCode = isUsage ? 2 : 1;
}
// After a signal something may still wait for servers that have ended.
process.exit();
