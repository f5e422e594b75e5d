import {
  type BenchEnvironment,
  CONTENDERS,
  measureAlternately,
  type RunningServer,
} from '../environment/bench-environment.ts';
import { runSql } from '../environment/databases.ts';
import type { LoadReport, LoadTask } from '../load/load-requests.ts';
import type { BenchOptions } from '../read-arguments.ts';
import type { Column, Result } from '../report.ts';

const COLUMNS: readonly Column[] = [
  { key: 'perSecond', label: 'requests/s', digits: 0 },
  { key: 'p50Ms', label: 'p50 ms', digits: 2 },
  { key: 'p99Ms', label: 'p99 ms', digits: 2 },
  { key: 'cpuMs', label: 'CPU ms per request', digits: 3 },
  { key: 'postgresMs', label: 'of PostgreSQL', digits: 3 },
  { key: 'redisMs', label: 'of Redis', digits: 3 },
  { key: 'peakMb', label: 'peak MB', digits: 0 },
];

const LIST_PATH = '/v1/store/orders';
/** An order that no database of the benchmark has. */
export const UNKNOWN_ORDER = '999999999999';
/** There are orders for so many. Contenders that cancel more are measured for a shorter time. */
const CANCELS_PER_SECOND_MAX = 15_000;

/** What a load sends, and which status every response must have. */
interface RequestLoad {
  readonly title: string;
  readonly method: 'GET' | 'DELETE';
  readonly path: string;
  readonly status: number;
  readonly connections: number;
  /** @default 'unlimited' */
  readonly key?: 'unlimited' | 'exhausted';
  /** @default 20 */
  readonly orderCount?: number | ((options: BenchOptions) => number);
  /** Whether each request names another order, of those in the database. @default false */
  readonly usesUpOrders?: boolean;
}

export const listOf20 = loadScenario({
  title: 'List 20 orders',
  method: 'GET',
  path: LIST_PATH,
  status: 200,
  connections: 32,
});

export const listOf10Thousand = loadScenario({
  title: 'List 10,000 orders',
  method: 'GET',
  path: LIST_PATH,
  status: 200,
  connections: 4,
  orderCount: 10_000,
});

export const cancelPending = loadScenario({
  title: 'Cancel pending orders',
  method: 'DELETE',
  path: `${LIST_PATH}/`,
  status: 204,
  connections: 32,
  orderCount: ({ rounds, seconds }) => (rounds + 1) * seconds * CONTENDERS.length * CANCELS_PER_SECOND_MAX,
  usesUpOrders: true,
});

const CANCEL_UNKNOWN: RequestLoad = {
  title: 'Cancel unknown ids',
  method: 'DELETE',
  path: `${LIST_PATH}/${UNKNOWN_ORDER}`,
  status: 404,
  connections: 32,
};

export const cancelUnknown = loadScenario(CANCEL_UNKNOWN);

export const refuseRequests = loadScenario({
  title: 'Refuse with 429',
  method: 'GET',
  path: LIST_PATH,
  status: 429,
  connections: 32,
  key: 'exhausted',
});

/** Loads a server that was just started, so that code and connections are ready when it is measured. */
export const warmUp = (environment: BenchEnvironment, server: RunningServer): Promise<LoadReport> =>
  sendLoad(environment, server, { ...CANCEL_UNKNOWN, connections: 4 }, { seconds: 0.3 });

/** Both servers run from the beginning to the end, and are loaded alternately. */
function loadScenario(load: RequestLoad): (environment: BenchEnvironment) => Promise<Result> {
  return async (environment) => {
    const { options, databases } = environment;
    const { orderCount = 20 } = load;
    const count = typeof orderCount === 'number' ? orderCount : orderCount(options);
    const databaseUrl = await databases.fill(`orders_${load.usesUpOrders ? 'to_cancel' : count}`, count);
    await using service = await environment.startServer('service', databaseUrl);
    await using baseline = await environment.startServer('baseline', databaseUrl);
    const servers = { service, baseline };
    let used = 0;
    const send = async (server: RunningServer, seconds: number) => {
      const report = await sendLoad(environment, server, load, { seconds, firstId: used + 1 });
      used += report.requests;
      return report;
    };
    for (const contender of CONTENDERS) {
      // The first request brings the key to its limit.
      if (load.key === 'exhausted') await fetch(servers[contender].listUrl, authorizedBy(databases.keys.exhausted));
      await send(servers[contender], options.seconds);
    }
    const measured = await measureAlternately(environment, CONTENDERS, async (contender) => {
      const server = servers[contender];
      const { value, cost } = await environment.measure(server, () => send(server, options.seconds));
      const { requests, p50Ms, p99Ms } = value;
      const each = (totalMs: number | undefined) => (totalMs === undefined ? undefined : totalMs / requests);
      return {
        perSecond: requests / value.seconds,
        p50Ms,
        p99Ms,
        cpuMs: each(cost?.serverMs),
        postgresMs: each(cost?.postgresMs),
        redisMs: each(cost?.redisMs),
        peakMb: cost?.peakMb,
      };
    });
    if (load.usesUpOrders) await checkCancelled(databaseUrl, used);
    return { title: load.title, columns: COLUMNS, ...measured };
  };
}

const authorizedBy = (apiKey: string): RequestInit => ({ headers: { authorization: `Bearer ${apiKey}` } });

/** @throws Error unless every response has the status of the load */
async function sendLoad(
  { databases, runLoadProgram }: BenchEnvironment,
  { url }: RunningServer,
  { method, path, key = 'unlimited', connections, status, usesUpOrders }: RequestLoad,
  { seconds, firstId = 1 }: { readonly seconds: number; readonly firstId?: number },
): Promise<LoadReport> {
  const ids = { first: firstId, end: firstId + seconds * CANCELS_PER_SECOND_MAX };
  const apiKey = databases.keys[key];
  const task: LoadTask = { origin: url, method, path, ...(usesUpOrders && { ids }), apiKey, connections, seconds };
  const report = await runLoadProgram<LoadReport>('load-requests', task);
  if (report.statuses[status] !== report.requests) {
    throw new Error(`${method} ${path}: ${status} expected, responses: ${JSON.stringify(report.statuses)}`);
  }
  return report;
}

/** Each response of 204 must have cancelled an order. */
async function checkCancelled(databaseUrl: string, expected: number): Promise<void> {
  const [row] = await runSql(databaseUrl, `select count(*)::integer as count from orders where status = 'cancelled'`);
  const count = row?.['count'];
  if (count !== expected) throw new Error(`${expected} responses said that an order was cancelled, ${count} are`);
}
