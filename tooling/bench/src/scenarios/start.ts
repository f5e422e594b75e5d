import { CONTENDERS, type Contender } from '../lab/contenders.ts';
import type { Lab } from '../lab/lab.ts';
import { cpuMsOf, rssMbOf, TELLS_COST } from '../lab/process-cost.ts';
import { download } from '../load/download.ts';
import type { Column } from '../report/result.ts';
import { measureInTurn } from './measure-in-turn.ts';
import type { Scenario } from './scenario.ts';

const COLUMNS: readonly Column[] = [
  { key: 'firstAnswerMs', label: 'first answer ms', digits: 0, better: 'lower' },
  { key: 'cpuMs', label: 'CPU ms', digits: 0, better: 'lower' },
  { key: 'rssMb', label: 'MB then', digits: 0, better: 'lower' },
];

/** A start is short, so there can be more of them. */
const STARTS_PER_ROUND = 3;

/** From the start of the process, on a migrated database, until a list of 20 was answered. */
export const start: Scenario = {
  plannedSeconds: ({ rounds }) => 4 + rounds * STARTS_PER_ROUND * 2 * 0.8,
  async run(lab) {
    const starts = lab.options.rounds * STARTS_PER_ROUND;
    const databaseUrl = await lab.databases.fill('orders_20', 20);
    // Files that were never read, and code that was never compiled, are another matter.
    for (const contender of CONTENDERS) await startOnce(lab, contender, databaseUrl);
    const measured = await measureInTurn(lab, starts, (contender) => startOnce(lab, contender, databaseUrl));
    return {
      title: 'Start to first answer',
      columns: COLUMNS,
      ...measured,
      drawn: ['firstAnswerMs'],
    };
  },
};

async function startOnce(lab: Lab, contender: Contender, databaseUrl: string) {
  const startMs = performance.now();
  await using server = await lab.startServer(contender, databaseUrl);
  await download(server.listUrl, lab.databases.keys.unlimited);
  const firstAnswerMs = performance.now() - startMs;
  return { firstAnswerMs, ...(TELLS_COST && { cpuMs: cpuMsOf(server.pids()), rssMb: rssMbOf(server.pids()) }) };
}
