/** The benchmark: the service beside a hand-written baseline, on a PostgreSQL and a Redis of its own. See docs/performance.md. */
import { constants } from 'node:os';
import { checkAnswers } from './check-answers.ts';
import { type Lab, openLab } from './lab/lab.ts';
import { describeMachine } from './machine.ts';
import { Progress } from './progress.ts';
import { type BenchOptions, readArguments, USAGE, UsageError } from './read-arguments.ts';
import type { Result } from './report/result.ts';
import { makeTables, renderText } from './report/tables.ts';
import { describeRun, type Run, writeDocumentation } from './report/write-documentation.ts';
import { SCENARIO_NAMES, SCENARIOS, type ScenarioName } from './scenarios/scenarios.ts';

const PREPARATION = { name: 'preparation', plannedSeconds: 8 };

/** Runs it all and shows the results, until it is done or a signal comes. @returns the exit code */
async function bench(options: BenchOptions<ScenarioName>): Promise<number> {
  const interrupted = Promise.withResolvers<number>();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.resolve(128 + constants.signals[signal]));
  }
  let isOver = false;
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      // Whoever still worked with a server that is gone; nothing was started that is not ended all the same.
      if (!isOver) console.error(error);
      interrupted.resolve(1);
    });
  }
  const parts = options.scenarios.map((name) => ({ name, plannedSeconds: SCENARIOS[name].plannedSeconds(options) }));
  using progress = new Progress([PREPARATION, ...parts], process.stderr);
  progress.begin(PREPARATION.name);
  // Never left half-way: a signal in these two seconds is obeyed when all that was started can be ended.
  await using lab = await openLab(options, progress);
  const done = measure(lab, options);
  // After a signal it still runs, and fails because its servers are gone.
  done.catch(() => {});
  const exitCode = await Promise.race([done, interrupted.promise]);
  isOver = true;
  return exitCode;
}

/** @returns the exit code: 1 where a scenario failed */
async function measure(lab: Lab, options: BenchOptions<ScenarioName>): Promise<number> {
  const { progress, storage, othersShares } = lab;
  progress.step('checking that both answer alike');
  await checkAnswers(lab);
  const results: Result[] = [];
  const failures: string[] = [];
  for (const name of options.scenarios) {
    progress.begin(name);
    try {
      results.push(await SCENARIOS[name].run(lab));
    } catch (error) {
      if (lab.isOver) throw error;
      failures.push(`${name} failed: ${error instanceof Error ? error.message : error}`);
    }
  }
  const run: Run = { options, results, machine: await describeMachine(storage), othersShares, date: new Date() };
  progress.clear();
  console.log([...makeTables(results).map(renderText), describeRun(run).join('\n')].join('\n\n'));
  if (failures.length > 0) {
    console.error(failures.join('\n'));
    return 1;
  }
  if (options.write) for (const file of writeDocumentation(run)) console.log(`written: ${file}`);
  return 0;
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
// After a signal something may still wait for servers that are gone.
process.exit();
