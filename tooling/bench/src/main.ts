/** The benchmark: the service beside a hand-written baseline, on a PostgreSQL and a Redis of its own. See docs/performance.md. */
import { constants, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { checkResponses } from './check-responses.ts';
import { type Figures, SCENARIOS, type Scenario } from './scenarios.ts';
import { readCosts, readPeak, type Server, startServer } from './server.ts';
import { openStorage, query, type Storage } from './storage.ts';
import { renderTable } from './table.ts';

const USAGE = `pnpm bench [--only a,b] [--rounds N] [--seconds S] [--quick]

  --only a,b     run these scenarios only: ${Object.keys(SCENARIOS).join(', ')}
  --rounds N     measure each N times, 1 to 50 (3; 1 when quick); the tables show medians
  --seconds S    load a server for S seconds each time, 1 to 60 (3; 1 when quick)
  --quick        short rounds, and lists of 100,000 orders instead of 1,000,000
  --help         show this`;

export interface BenchOptions {
  /** Names of scenarios. */
  readonly only: readonly string[];
  /** The number of measurements of each scenario. */
  readonly rounds: number;
  /** How long a server is loaded in each measurement, and before the first. */
  readonly seconds: number;
  /** The number of orders in the long lists. */
  readonly longListCount: number;
}

/** @throws Error that names the wrong argument */
function readArguments(args: readonly string[]): BenchOptions | 'help' {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const options = { only: text, rounds: text, seconds: text, quick: flag, help: flag };
  // Some package managers pass on the dashes that end their own options.
  const { values } = parseArgs({ args: args.slice(args[0] === '--' ? 1 : 0), options });
  if (values.help) return 'help';
  const readNumber = (name: 'rounds' | 'seconds', max: number): number => {
    const value = Number(values[name] ?? (values.quick ? 1 : 3));
    if (Number.isInteger(value) && value >= 1 && value <= max) return value;
    throw new Error(`--${name} must be a whole number from 1 to ${max}, not "${values[name]}".`);
  };
  const wanted = values.only?.split(',').map((name) => name.trim());
  const unknown = wanted?.find((name) => !Object.hasOwn(SCENARIOS, name));
  if (unknown !== undefined) throw new Error(`There is no scenario "${unknown}".`);
  return {
    only: Object.keys(SCENARIOS).filter((name) => wanted?.includes(name) ?? true),
    rounds: readNumber('rounds', 50),
    seconds: readNumber('seconds', 60),
    longListCount: values.quick ? 100_000 : 1_000_000,
  };
}

/** Measures the two rows of a scenario in turn: other load on the machine affects both alike. @returns its table */
async function run(scenario: Scenario, options: BenchOptions, storage: Storage): Promise<string> {
  const databaseUrl = await storage.createDatabase(scenario.orderCount(options));
  let id = 0;
  const surroundings = { ...options, keys: storage.keys, nextId: () => ++id };
  await using servers = new AsyncDisposableStack();
  const rows: { name: string; server: Server; rounds: Figures[] }[] = [];
  for (const [name, contender] of Object.entries(scenario.rows)) {
    rows.push({ name, server: servers.use(await startServer(contender, databaseUrl, storage)), rounds: [] });
  }
  // The first round warms up code and connections.
  for (let round = 0; round <= options.rounds; round++) {
    for (const { name, server, rounds } of rows) {
      console.error(`  ${round === 0 ? 'warming up' : `round ${round} of ${options.rounds}`}, ${name}`);
      const before = readCosts(server, storage);
      const { figures, requests } = await scenario.measure(name, server, surroundings);
      const costs = Object.entries(readCosts(server, storage)).map(([of, ms]) => [
        of,
        (ms - (before[of] ?? 0)) / requests,
      ]);
      if (round > 0) rounds.push({ ...figures, ...Object.fromEntries(costs), ...readPeak(server) });
    }
  }
  if (scenario.cancels) {
    const [row] = await query(databaseUrl, `select count(*)::integer as count from orders where status = 'cancelled'`);
    if (row?.['count'] !== id)
      throw new Error(`${id} responses said that an order was cancelled, ${row?.['count']} are`);
  }
  const [subject, base] = rows;
  if (subject === undefined || base === undefined) throw new Error('two are compared');
  return renderTable(scenario.title, [subject, base]);
}

/** Runs the scenarios and prints their tables. @returns whether all of them succeeded */
async function bench(options: BenchOptions, storage: Storage): Promise<boolean> {
  console.error('comparing the responses of both');
  await checkResponses(storage);
  let succeeded = true;
  for (const name of options.only) {
    console.error(name);
    const scenario = SCENARIOS[name];
    if (scenario === undefined) continue;
    try {
      console.log(`${await run(scenario, options, storage)}\n`);
    } catch (error) {
      succeeded = false;
      console.error(`${name} failed:`, error);
    }
  }
  const machine = `${cpus().length} x ${cpus()[0]?.model.trim() ?? 'unknown processor'}, Node ${process.versions.node}`;
  console.log(`${machine}; rounds: ${options.rounds} of ${options.seconds} s each.`);
  return succeeded;
}

/** @returns the exit code of a success, a failure, or a signal, which ends everything that was started */
async function benchUntilSignal(options: BenchOptions): Promise<number> {
  const interrupted = Promise.withResolvers<number>();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.resolve(128 + constants.signals[signal]));
  }
  await using storage = await openStorage();
  const done = bench(options, storage).then((succeeded) => (succeeded ? 0 : 1));
  return await Promise.race([done, interrupted.promise]);
}

function readArgumentsOrExit(args: readonly string[]): BenchOptions | 'help' {
  try {
    return readArguments(args);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    process.exit(2);
  }
}

const options = readArgumentsOrExit(process.argv.slice(2));
if (options === 'help') console.log(USAGE);
else process.exit(await benchUntilSignal(options));
