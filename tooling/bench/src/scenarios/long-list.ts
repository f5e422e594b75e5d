import { CONTENDERS } from '../lab/contenders.ts';
import type { Lab, RunningServer } from '../lab/lab.ts';
import { type Download, download } from '../load/download.ts';
import type { LoadReport } from '../load/load-requests.ts';
import type { Column } from '../report/result.ts';
import { measureFresh, settle } from './fresh-server.ts';
import { ListLengths } from './list-lengths.ts';
import { measureInTurn } from './measure-in-turn.ts';
import { sendLoad } from './request-load.ts';
import { formatCount, type Scenario, UNKNOWN_ORDER } from './scenario.ts';

const LIST_COLUMNS: readonly Column[] = [
  { key: 'totalMs', label: 'whole ms', digits: 0, better: 'lower' },
  { key: 'firstByteMs', label: 'first byte ms', digits: 1, better: 'lower' },
  { key: 'cpuMs', label: 'CPU ms', digits: 0, better: 'lower' },
  { key: 'postgresMs', label: 'of PostgreSQL', digits: 0, better: 'lower' },
  { key: 'peakMb', label: 'peak MB', digits: 0, better: 'lower' },
  { key: 'growthMb', label: 'growth MB', digits: 1, better: 'lower' },
];

const BESIDE_COLUMNS: readonly Column[] = [
  { key: 'p50Ms', label: 'p50 ms', digits: 2, better: 'lower' },
  { key: 'p99Ms', label: 'p99 ms', digits: 2, better: 'lower' },
  { key: 'maxMs', label: 'longest ms', digits: 1, better: 'lower' },
  { key: 'lists', label: 'lists read meanwhile', digits: 1, better: 'higher' },
];

export const longListDatabase = (lab: Lab): Promise<string> =>
  lab.databases.fill('orders_long', lab.options.longListCount);

/** Each list is read from a fresh process, so that memory is that of one list. */
export const longList: Scenario = {
  // The database is filled by whichever scenario needs it first, which is this one unless others are chosen.
  plannedSeconds: ({ rounds, longListCount }) => longListCount / 75_000 + rounds * 2 * (1.5 + longListCount / 800_000),
  async run(lab) {
    const { rounds, longListCount } = lab.options;
    const databaseUrl = await longListDatabase(lab);
    const lengths = new ListLengths();
    const measured = await measureInTurn(lab, rounds, async (contender) => {
      const { value, cost } = await measureFresh(lab, contender, databaseUrl, ({ listUrl }) =>
        download(listUrl, lab.databases.keys.unlimited),
      );
      lengths.check(longListCount, value.bytes);
      const { totalMs, firstByteMs } = value;
      return {
        totalMs,
        firstByteMs,
        cpuMs: cost?.serverMs,
        postgresMs: cost?.postgresMs,
        peakMb: cost?.peakMb,
        growthMb: cost?.growthMb,
      };
    });
    return {
      title: `List ${formatCount(longListCount)} orders`,
      columns: LIST_COLUMNS,
      ...measured,
      drawn: ['totalMs', 'firstByteMs', 'cpuMs'],
    };
  },
};

const BESIDE_PER_SECOND = 200;

/** Small requests at a steady rate, while one list after the other is read. */
export const besideLongList: Scenario = {
  plannedSeconds: ({ rounds, seconds, longListCount }) => 4 + rounds * 2 * (seconds + longListCount / 1_000_000),
  async run(lab) {
    const { rounds, longListCount } = lab.options;
    const databaseUrl = await longListDatabase(lab);
    await using service = await lab.startServer('service', databaseUrl);
    await using baseline = await lab.startServer('baseline', databaseUrl);
    const servers = { service, baseline };
    for (const contender of CONTENDERS) {
      lab.progress.step(`warming up the ${contender}`);
      await settle(lab, servers[contender]);
      await download(servers[contender].listUrl, lab.databases.keys.unlimited);
    }
    const measured = await measureInTurn(lab, rounds, (contender) => measureBeside(lab, servers[contender]));
    return {
      title: `Other requests while ${formatCount(longListCount)} are listed`,
      columns: BESIDE_COLUMNS,
      ...measured,
      drawn: ['p99Ms'],
    };
  },
};

async function measureBeside(lab: Lab, server: RunningServer) {
  const { value } = await lab.measure(server, () => cancelWhileListing(lab, server, { readers: 1, connections: 4 }));
  const { p50Ms, p99Ms, maxMs } = value.report;
  return { p50Ms, p99Ms, maxMs, lists: value.waves.length };
}

/**
 * Cancels at a steady rate while so many at once read a list, and another when all have read it, until the time is over.
 *
 * @returns how the cancels were answered, and the lists that were read at once, wave after wave
 */
export async function cancelWhileListing(
  lab: Lab,
  { url, listUrl }: RunningServer,
  { readers, connections }: { readonly readers: number; readonly connections: number },
): Promise<{ report: LoadReport; waves: readonly (readonly Download[])[] }> {
  const { unlimited } = lab.databases.keys;
  let isOver = false;
  const readWaves = async () => {
    const waves: Download[][] = [];
    while (!isOver) {
      waves.push(await Promise.all(Array.from({ length: readers }, () => download(listUrl, unlimited))));
    }
    return waves;
  };
  const load = sendLoad(lab, 404, {
    origin: url,
    method: 'DELETE',
    path: `/v1/store/orders/${UNKNOWN_ORDER}`,
    apiKey: unlimited,
    connections,
    seconds: lab.options.seconds,
    perSecond: BESIDE_PER_SECOND,
  }).finally(() => {
    isOver = true;
  });
  const [report, waves] = await Promise.all([load, readWaves()]);
  return { report, waves };
}
