import { CONTENDERS, type Contender } from '../lab/contenders.ts';
import type { Lab } from '../lab/lab.ts';
import { download } from '../load/download.ts';
import { type Column, SampleCollector } from '../report/result.ts';
import { measureFresh } from './fresh-server.ts';
import { ListLengths } from './list-lengths.ts';
import { longListDatabase } from './long-list.ts';
import { formatCount, type Scenario } from './scenario.ts';

/** Lists of one size, so many that each size comes to as many orders: code is as warm then, and as much was allocated. */
interface Size {
  readonly orders: number;
  readonly lists: number;
}

/** @param longListCount a multiple of 100 */
export const growthSizes = (longListCount: number): readonly Size[] =>
  [100, 10, 1].map((lists) => ({ orders: longListCount / lists, lists }));

/** How time and memory grow with the number of orders: time per order and memory should not. */
export const growth: Scenario = {
  plannedSeconds: ({ rounds, longListCount }) =>
    longListCount / 600_000 + rounds * CONTENDERS.length * (4.5 + longListCount / 350_000),
  async run(lab) {
    const { rounds, longListCount } = lab.options;
    const sizes = growthSizes(longListCount);
    const collectors = { service: new SampleCollector(), baseline: new SampleCollector() };
    const lengths = new ListLengths();
    for (let round = 1; round <= rounds; round++) {
      for (const size of sizes) {
        for (const contender of CONTENDERS) {
          lab.progress.step(`round ${round} of ${rounds}, ${formatCount(size.orders)} orders, ${contender}`);
          collectors[contender].add(await measureSize(lab, contender, size, lengths));
        }
      }
    }
    return {
      title: 'Lists by length',
      columns: columnsOf(sizes),
      subject: { name: 'service', samples: collectors.service.samples },
      base: { name: 'baseline', samples: collectors.baseline.samples },
      drawn: sizes.map(timeKey),
    };
  },
};

async function measureSize(lab: Lab, contender: Contender, size: Size, lengths: ListLengths) {
  const { orders, lists } = size;
  const databaseUrl = await (lists === 1 ? longListDatabase(lab) : lab.databases.fill(`orders_${orders}`, orders));
  const { value, cost } = await measureFresh(lab, contender, databaseUrl, async ({ listUrl }) => {
    let milliseconds = 0;
    for (let i = 0; i < lists; i++) {
      const { totalMs, bytes } = await download(listUrl, lab.databases.keys.unlimited);
      lengths.check(orders, bytes);
      milliseconds += totalMs;
    }
    return milliseconds;
  });
  return { [timeKey(size)]: (value * 1000) / (orders * lists), [memoryKey(size)]: cost?.growthMb };
}

const timeKey = ({ orders }: Size) => `microseconds of ${orders}`;
const memoryKey = ({ orders }: Size) => `growthMb of ${orders}`;

const columnsOf = (sizes: readonly Size[]): readonly Column[] => [
  ...sizes.map((size) => ({
    key: timeKey(size),
    label: `µs per order of ${formatCount(size.orders)}`,
    digits: 2,
    better: 'lower' as const,
  })),
  ...sizes.map((size) => ({
    key: memoryKey(size),
    label: `growth MB of ${formatCount(size.orders)}`,
    digits: 1,
    better: 'lower' as const,
  })),
];
