import { setTimeout as sleep } from 'node:timers/promises';
import { CONTENDERS } from '../lab/contenders.ts';
import { runSql } from '../lab/databases.ts';
import type { Lab, RunningServer } from '../lab/lab.ts';
import { download } from '../load/download.ts';
import { openUnreadList } from '../load/unread-list.ts';
import type { Column } from '../report/result.ts';
import { median } from '../statistics.ts';
import { measureFresh } from './fresh-server.ts';
import { ListLengths } from './list-lengths.ts';
import { cancelWhileListing, longListDatabase } from './long-list.ts';
import { measureInTurn } from './measure-in-turn.ts';
import { formatCount, type Scenario } from './scenario.ts';

const COLUMNS: readonly Column[] = [
  { key: 'aloneMs', label: 'one alone ms', digits: 0, better: 'lower' },
  { key: 'crowdMs', label: 'last of nine ms', digits: 0, better: 'lower' },
  { key: 'growthMb', label: 'growth MB', digits: 1, better: 'lower' },
  { key: 'p50Ms', label: 'cancels p50 ms', digits: 2, better: 'lower' },
  { key: 'p99Ms', label: 'cancels p99 ms', digits: 2, better: 'lower' },
  { key: 'busy', label: 'connections busy then', digits: 0, better: 'lower' },
];

/** Beside one more, who does not read. */
const READERS = 9;
/** Of the cancels: enough that few queue behind a slow answer, which would count its wait again. */
const CONNECTIONS = 32;

/** Ten begin the same list, and one of them does not read on: neither the others nor the database wait for it. */
export const crowd: Scenario = {
  plannedSeconds: ({ rounds, seconds, longListCount }) =>
    rounds * CONTENDERS.length * (2 + Math.max(seconds, longListCount / 180_000) + longListCount / 250_000),
  async run(lab) {
    const { rounds, longListCount } = lab.options;
    const databaseUrl = await longListDatabase(lab);
    const lengths = new ListLengths();
    const measured = await measureInTurn(lab, rounds, async (contender) => {
      const { value, cost } = await measureFresh(lab, contender, databaseUrl, (server) =>
        readAsCrowd(lab, server, databaseUrl),
      );
      for (const bytes of value.bytes) lengths.check(longListCount, bytes);
      return { ...value.figures, growthMb: cost?.growthMb };
    });
    return {
      title: `Ten lists of ${formatCount(longListCount)}, one unread`,
      columns: COLUMNS,
      ...measured,
      drawn: ['crowdMs', 'p99Ms'],
    };
  },
};

async function readAsCrowd(lab: Lab, server: RunningServer, databaseUrl: string) {
  const { listUrl } = server;
  const { unlimited } = lab.databases.keys;
  const first = await download(listUrl, unlimited);
  const alone = await download(listUrl, unlimited);
  await using unread = await openUnreadList(listUrl, unlimited);
  const { report, waves } = await cancelWhileListing(lab, server, { readers: READERS, connections: CONNECTIONS });
  const busy = await countBusyConnections(databaseUrl);
  // It has waited, and nothing else: the whole list is still to be had.
  const unreadBytes = await unread.read();
  return {
    bytes: [first.bytes, alone.bytes, unreadBytes, ...waves.flat().map(({ bytes }) => bytes)],
    figures: {
      aloneMs: alone.totalMs,
      crowdMs: median(waves.map((wave) => Math.max(...wave.map(({ totalMs }) => totalMs)))),
      p50Ms: report.p50Ms,
      p99Ms: report.p99Ms,
      busy,
    },
  };
}

/** Longer than any batch takes that was fetched ahead. */
const CALM_MS = 500;

/** Those with a statement or a transaction. */
async function countBusyConnections(databaseUrl: string): Promise<number> {
  await sleep(CALM_MS);
  const [row] = await runSql(
    databaseUrl,
    `select count(*)::integer as busy from pg_stat_activity where datname = current_database()
      and backend_type = 'client backend' and pid <> pg_backend_pid() and state <> 'idle'`,
  );
  return Number(row?.['busy']);
}
