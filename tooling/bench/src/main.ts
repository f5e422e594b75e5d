/** The benchmark: the service beside the usual way to build the same. See docs/performance.md. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { constants, cpus } from 'node:os';
import { Command, InvalidArgumentError } from 'commander';
import { checkResponses } from './check-responses.ts';
import { draw, type Result, tabulate } from './report.ts';
import { type Figures, measure, SCENARIOS, type Scenario } from './scenarios.ts';
import { openServers, type Servers } from './servers.ts';

const NAMES = Object.keys(SCENARIOS);
/** Most orders in a database, and for how long a contender is loaded in each round. */
const WHOLE = { rounds: 3, seconds: 3, orderCountMax: 1_000_000 };
const QUICK = { rounds: 1, seconds: 1, orderCountMax: 100_000 };

/** Measures both in turn: other load on the machine affects both alike. */
async function run(scenario: Scenario, options: typeof WHOLE, servers: Servers): Promise<Result> {
  const orderCount = Math.min(scenario.orderCount, options.orderCountMax);
  await servers.fill(orderCount);
  let id = 0;
  const load = { scenario, servers, seconds: options.seconds, nextId: () => ++id };
  await using service = await servers.startContender('service');
  await using baseline = await servers.startContender('baseline');
  const rounds: { service: Figures; baseline: Figures }[] = [];
  // The first round warms up code and connections.
  for (let round = 0; round <= options.rounds; round++) {
    console.error(round === 0 ? '  warming up' : `  round ${round} of ${options.rounds}`);
    rounds.push({ service: await measure(service, load), baseline: await measure(baseline, load) });
  }
  const { rowCount } = await servers.client.query(`select from orders where status = 'cancelled'`);
  if (rowCount !== id) throw new Error(`${id} responses said that an order was cancelled, ${rowCount} are`);
  return { title: scenario.title.replace('N', orderCount.toLocaleString('en')), rounds: rounds.slice(1) };
}

async function bench(names: readonly string[], options: typeof WHOLE, servers: Servers): Promise<readonly Result[]> {
  console.error('comparing the responses of both');
  await checkResponses(servers);
  const results: Result[] = [];
  for (const [name, scenario] of Object.entries(SCENARIOS).filter(([known]) => names.includes(known))) {
    console.error(name);
    const result = await run(scenario, options, servers);
    console.log(result.title);
    console.table(tabulate(result));
    results.push(result);
  }
  return results;
}

function readNames(text: string): readonly string[] {
  const unknown = text.split(',').find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new InvalidArgumentError(`There is no scenario "${unknown}".`);
  return text.split(',');
}

function readRounds(text: string): number {
  if (/^([1-9]|1\d|20)$/.test(text)) return Number(text); // more would cancel all orders there are
  throw new InvalidArgumentError('It must be a whole number from 1 to 20.');
}

const args = process.argv.slice(process.argv[2] === '--' ? 3 : 2); // some package managers pass on their own dashes
const { only, quick, write, ...others } = new Command('pnpm bench')
  .option('--only <names>', `run these scenarios only: ${NAMES}`, readNames, NAMES)
  .option('--rounds <n>', 'measure each n times; the tables show medians (default: 3; 1 when quick)', readRounds)
  .option('--quick', 'short rounds, and at most 100,000 orders instead of 1,000,000')
  .option('--write', 'draw the picture of docs/performance.md')
  .parse(args, { from: 'user' })
  .opts<{ only: readonly string[]; rounds?: number; quick?: true; write?: true }>();
const options = { ...(quick ? QUICK : WHOLE), ...others };

const signals = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map(async (signal) => {
  await once(process, signal);
  process.exitCode = 128 + constants.signals[signal];
});
{
  await using stack = new AsyncDisposableStack();
  const servers = await openServers(stack);
  const results = await Promise.race([bench(only, options, servers), ...signals]);
  const machine = `${cpus().length} × ${cpus()[0]?.model}, Node ${process.versions.node}`;
  const footer = `${machine}, ${options.rounds} rounds, ${new Date().toISOString().slice(0, 10)}`;
  if (results) console.log(footer);
  if (results && write) writeFileSync(new URL('../../../docs/performance.svg', import.meta.url), draw(results, footer));
}
process.exit(); // the scenario that was interrupted would go on
