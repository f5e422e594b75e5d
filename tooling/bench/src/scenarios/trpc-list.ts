import type { ReadListReport, ReadListTask } from '../load/read-list.ts';
import { type Column, SampleCollector } from '../report/result.ts';
import { measureFresh } from './fresh-server.ts';
import { longListDatabase } from './long-list.ts';
import { formatCount, type Scenario } from './scenario.ts';

const COLUMNS: readonly Column[] = [
  { key: 'milliseconds', label: 'whole ms', digits: 0, better: 'lower' },
  { key: 'firstOrderMs', label: 'first order ms', digits: 1, better: 'lower' },
  { key: 'cpuMs', label: 'CPU ms of the service', digits: 0, better: 'lower' },
  { key: 'serviceGrowthMb', label: 'growth MB of the service', digits: 1, better: 'lower' },
  { key: 'clientGrowthMb', label: 'growth MB of the client', digits: 1, better: 'lower' },
];

const INTERFACES = ['tRPC', 'REST'] as const;

/** The same list by the client package over both interfaces: service and reader are fresh processes each time. */
export const trpcList: Scenario = {
  plannedSeconds: ({ rounds, longListCount }) => rounds * (3 + longListCount / 200_000),
  async run(lab) {
    const { rounds, longListCount } = lab.options;
    const databaseUrl = await longListDatabase(lab);
    const collectors = { tRPC: new SampleCollector(), REST: new SampleCollector() };
    for (let round = 1; round <= rounds; round++) {
      for (const name of INTERFACES) {
        lab.progress.step(`round ${round} of ${rounds}, ${name}`);
        const { value, cost } = await measureFresh(lab, 'service', databaseUrl, ({ url }) => {
          const task: ReadListTask = { origin: url, apiKey: lab.databases.keys.unlimited, interface: name };
          return lab.runLoadProgram<ReadListReport>('read-list', task);
        });
        const { orders, milliseconds, firstOrderMs, growthMb } = value;
        if (orders !== longListCount) throw new Error(`${name} listed ${orders} orders, not ${longListCount}`);
        collectors[name].add({
          milliseconds,
          firstOrderMs,
          clientGrowthMb: growthMb,
          ...(cost && { cpuMs: cost.serverMs, serviceGrowthMb: cost.growthMb }),
        });
      }
    }
    return {
      title: `List ${formatCount(longListCount)} orders by the client package`,
      columns: COLUMNS,
      subject: { name: 'tRPC', samples: collectors.tRPC.samples },
      base: { name: 'REST', samples: collectors.REST.samples },
      drawn: [],
    };
  },
};
