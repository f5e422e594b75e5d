import { CONTENDERS } from '../lab/contenders.ts';
import { runSql } from '../lab/databases.ts';
import type { Lab, RunningServer } from '../lab/lab.ts';
import type { LoadReport, LoadTask } from '../load/load-requests.ts';
import type { BenchOptions } from '../read-arguments.ts';
import type { Column } from '../report/result.ts';
import { measureInTurn } from './measure-in-turn.ts';
import { formatCount, type Scenario, UNKNOWN_ORDER } from './scenario.ts';

export const LOAD_COLUMNS: readonly Column[] = [
  { key: 'perSecond', label: 'requests/s', digits: 0, better: 'higher' },
  { key: 'p50Ms', label: 'p50 ms', digits: 2, better: 'lower' },
  { key: 'p99Ms', label: 'p99 ms', digits: 2, better: 'lower' },
  { key: 'cpuMs', label: 'CPU ms per request', digits: 3, better: 'lower' },
  { key: 'postgresMs', label: 'of PostgreSQL', digits: 3, better: 'lower' },
  { key: 'redisMs', label: 'of Redis', digits: 3, better: 'lower' },
  { key: 'peakMb', label: 'peak MB', digits: 0, better: 'lower' },
];

const LIST_PATH = '/v1/store/orders';
const ORDER_PATH = `${LIST_PATH}/`;

/** What a load asks for, and what the answers must be. */
interface RequestLoad {
  readonly title: string;
  readonly database: string;
  orderCount(options: BenchOptions): number;
  readonly method: 'GET' | 'DELETE';
  readonly path: string;
  readonly key: 'unlimited' | 'exhausted';
  readonly connections: number;
  readonly status: number;
  /** Whether each request asks for another order, of those in the database. @default false */
  readonly usesUpOrders?: boolean;
}

export const listOf20 = loadScenario({
  title: 'List 20 orders',
  database: 'orders_20',
  orderCount: () => 20,
  method: 'GET',
  path: LIST_PATH,
  key: 'unlimited',
  connections: 32,
  status: 200,
});

export const listOf10Thousand = loadScenario({
  title: `List ${formatCount(10_000)} orders`,
  database: 'orders_10000',
  orderCount: () => 10_000,
  method: 'GET',
  path: LIST_PATH,
  key: 'unlimited',
  connections: 4,
  status: 200,
});

/** What there are orders for. Whoever cancels more in a second is measured for a shorter time. */
const CANCELS_PER_SECOND_MAX = 15_000;

export const cancelPending = loadScenario({
  title: 'Cancel pending orders',
  database: 'orders_to_cancel',
  orderCount: ({ rounds, seconds, warmUpSeconds }) =>
    (rounds * seconds + warmUpSeconds) * CONTENDERS.length * CANCELS_PER_SECOND_MAX,
  method: 'DELETE',
  path: ORDER_PATH,
  key: 'unlimited',
  connections: 32,
  status: 204,
  usesUpOrders: true,
});

export const cancelUnknown = loadScenario({
  title: 'Cancel unknown ids',
  database: 'orders_20',
  orderCount: () => 20,
  method: 'DELETE',
  path: ORDER_PATH + UNKNOWN_ORDER,
  key: 'unlimited',
  connections: 32,
  status: 404,
});

export const refuseRequests = loadScenario({
  title: 'Refuse with 429',
  database: 'orders_20',
  orderCount: () => 20,
  method: 'GET',
  path: LIST_PATH,
  key: 'exhausted',
  connections: 32,
  status: 429,
});

/** Both run from the beginning to the end, and are loaded in turn. */
function loadScenario(load: RequestLoad): Scenario {
  return {
    plannedSeconds(options) {
      const { rounds, seconds, warmUpSeconds } = options;
      return 4 + (warmUpSeconds + rounds * (seconds + 0.6)) * 2 + load.orderCount(options) / 60_000;
    },
    async run(lab) {
      const { rounds, seconds, warmUpSeconds } = lab.options;
      const databaseUrl = await lab.databases.fill(load.database, load.orderCount(lab.options));
      await using service = await lab.startServer('service', databaseUrl);
      await using baseline = await lab.startServer('baseline', databaseUrl);
      const servers = { service, baseline };
      const sender = new LoadSender(lab, load);
      for (const contender of CONTENDERS) {
        lab.progress.step(`warming up the ${contender}`);
        await sender.send(servers[contender], load.key === 'exhausted' ? undefined : load.status, warmUpSeconds);
      }
      const measured = await measureInTurn(lab, rounds, (contender) =>
        measureLoad(lab, servers[contender], () => sender.send(servers[contender], load.status, seconds)),
      );
      if (load.usesUpOrders) await checkCancelled(databaseUrl, sender.answeredCount);
      return { title: load.title, columns: LOAD_COLUMNS, ...measured, drawn: ['perSecond', 'cpuMs'] };
    },
  };
}

/** Sends a load, and knows which orders it has used up. */
class LoadSender {
  answeredCount = 0;
  readonly #lab: Lab;
  readonly #load: RequestLoad;
  #nextId = 1;

  constructor(lab: Lab, load: RequestLoad) {
    this.#lab = lab;
    this.#load = load;
  }

  /** @param status what every answer must have; not given: one that brings the key to its limit may come first */
  async send({ url }: RunningServer, status: number | undefined, seconds: number): Promise<LoadReport> {
    const { method, path, key, connections, usesUpOrders } = this.#load;
    const ids = { first: this.#nextId, end: this.#nextId + seconds * CANCELS_PER_SECOND_MAX };
    const report = await sendLoad(this.#lab, status, {
      origin: url,
      method,
      path,
      ...(usesUpOrders && { ids }),
      apiKey: this.#lab.databases.keys[key],
      connections,
      seconds,
    });
    this.#nextId += report.requests;
    this.answeredCount += report.requests;
    return report;
  }
}

/** @throws Error unless every answer has the status */
export async function sendLoad(lab: Lab, status: number | undefined, task: LoadTask): Promise<LoadReport> {
  const report = await lab.runLoadProgram<LoadReport>('load-requests', task);
  if (status !== undefined && report.statuses[status] !== report.requests) {
    throw new Error(`${task.method} ${task.path}: ${status} expected, answered: ${JSON.stringify(report.statuses)}`);
  }
  return report;
}

/** The figures of {@link LOAD_COLUMNS}. */
export async function measureLoad(lab: Lab, server: RunningServer, send: () => Promise<LoadReport>) {
  const { value: report, cost } = await lab.measure(server, send);
  const { requests, seconds, p50Ms, p99Ms } = report;
  return {
    perSecond: requests / seconds,
    p50Ms,
    p99Ms,
    ...(cost && {
      cpuMs: cost.serverMs / requests,
      postgresMs: cost.postgresMs / requests,
      redisMs: cost.redisMs / requests,
      peakMb: cost.peakMb,
    }),
  };
}

/** Whoever answers 204 must have cancelled. */
async function checkCancelled(databaseUrl: string, answeredCount: number): Promise<void> {
  const [row] = await runSql(databaseUrl, `select count(*)::integer as count from orders where status = 'cancelled'`);
  const count = row?.['count'];
  if (count !== answeredCount) throw new Error(`${answeredCount} cancels were answered with 204, ${count} happened`);
}
