import { TELLS_COST } from '../lab/process-cost.ts';
import { SampleCollector } from '../report/result.ts';
import { LOAD_COLUMNS, measureLoad, sendLoad } from './request-load.ts';
import type { Scenario } from './scenario.ts';

const CONNECTIONS = 64;

/** The setting of the service, and what its rows are called. */
const COUNTS = { two: '2', one: '1' } as const;
const NAMES = ['two', 'one'] as const;

/** What a second process adds. On two processors the load and the databases want their share of them too. */
export const processes: Scenario = {
  plannedSeconds: ({ rounds, seconds, warmUpSeconds }) => 4 + (warmUpSeconds + rounds * (seconds + 0.6)) * 2,
  async run(lab) {
    const { rounds, seconds, warmUpSeconds } = lab.options;
    const databaseUrl = await lab.databases.fill('orders_20', 20);
    await using two = await lab.startServer('service', databaseUrl, { PROCESSES: COUNTS.two });
    await using one = await lab.startServer('service', databaseUrl, { PROCESSES: COUNTS.one });
    if (TELLS_COST && two.pids().length === one.pids().length) throw new Error('PROCESSES=2 starts no second process');
    const servers = { two, one };
    const collectors = { two: new SampleCollector(), one: new SampleCollector() };
    const send = (name: (typeof NAMES)[number], forSeconds: number) =>
      sendLoad(lab, 200, {
        origin: servers[name].url,
        method: 'GET',
        path: '/v1/store/orders',
        apiKey: lab.databases.keys.unlimited,
        connections: CONNECTIONS,
        seconds: forSeconds,
      });
    for (const name of NAMES) {
      lab.progress.step(`warming up, PROCESSES=${COUNTS[name]}`);
      await send(name, warmUpSeconds);
    }
    for (let round = 1; round <= rounds; round++) {
      for (const name of NAMES) {
        lab.progress.step(`round ${round} of ${rounds}, PROCESSES=${COUNTS[name]}`);
        collectors[name].add(await measureLoad(lab, servers[name], () => send(name, seconds)));
      }
    }
    return {
      title: 'List 20 orders, two processes beside one',
      columns: LOAD_COLUMNS,
      subject: { name: 'PROCESSES=2', samples: collectors.two.samples },
      base: { name: 'PROCESSES=1', samples: collectors.one.samples },
      drawn: [],
    };
  },
};
