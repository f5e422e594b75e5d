import { createHistogram } from 'node:perf_hooks';
import { createPetstoreClient } from '@petstore/client';
import { Client } from 'undici';
import type { BenchOptions } from './main.ts';
import type { Contender, Server } from './server.ts';
import type { Storage } from './storage.ts';

export type Figures = Readonly<Record<string, number>>;

/** The result of one round. */
interface Round {
  readonly figures: Figures;
  /** The number of requests, by which the processor time is divided. */
  readonly requests: number;
}

export interface Scenario {
  readonly title: string;
  /** The two rows to compare, and the server of each. */
  readonly rows: Readonly<Record<string, Contender>>;
  readonly orderCount: (options: BenchOptions) => number;
  /** Whether each request has cancelled an order. @default false */
  readonly cancels?: boolean;
  /** @throws Error if a response was wrong */
  measure(row: string, server: Server, run: Run): Promise<Round>;
}

/** @param nextId numbers orders from 1, across all rounds of a scenario */
interface Run extends Pick<BenchOptions, 'seconds' | 'longListCount'> {
  readonly keys: Storage['keys'];
  nextId(): number;
}

const LIST = '/v1/store/orders';
const BOTH = { service: 'service', baseline: 'baseline' } as const;
/** The database has orders for this many. If more are cancelled, the next order is unknown, and the scenario fails. */
const CANCELS_PER_SECOND_MAX = 15_000;

interface Load {
  readonly title: string;
  readonly status: number;
  /** @default 'GET' */
  readonly method?: 'DELETE';
  /** The path of each request. @default the path of the list */
  readonly path?: (run: Run) => string;
  /** @default 32 */
  readonly connections?: number;
  /** @default 'unlimited' */
  readonly key?: keyof Storage['keys'];
  /** @default 20 */
  readonly orderCount?: Scenario['orderCount'];
  readonly cancels?: boolean;
}

/** Sends requests on several connections, on each one after the other. */
function loadScenario(load: Load): Scenario {
  const { title, status, method = 'GET', path = () => LIST, connections = 32, key = 'unlimited' } = load;
  return {
    title,
    rows: BOTH,
    orderCount: load.orderCount ?? (() => 20),
    cancels: load.cancels ?? false,
    async measure(_row, { url }, run) {
      const headers = { authorization: `Bearer ${run.keys[key]}` };
      const latencies = createHistogram();
      const startMs = performance.now();
      const endMs = startMs + run.seconds * 1000;
      const keepBusy = async () => {
        await using stack = new AsyncDisposableStack();
        const client = stack.adopt(new Client(url), (opened) => opened.close());
        while (performance.now() < endMs) {
          const sentMs = performance.now();
          const response = await client.request({ method, path: path(run), headers });
          await response.body.dump({ limit: Number.POSITIVE_INFINITY });
          if (response.statusCode !== status) throw new Error(`${status} expected, response: ${response.statusCode}`);
          latencies.record(Math.max(1, Math.round((performance.now() - sentMs) * 1e6))); // nanoseconds, at least 1
        }
      };
      await Promise.all(Array.from({ length: connections }, keepBusy));
      const requests = latencies.count;
      const perSecond = (requests / (performance.now() - startMs)) * 1000;
      const [p50, p99] = [latencies.percentile(50) / 1e6, latencies.percentile(99) / 1e6];
      return { requests, figures: { 'requests/s': perSecond, 'p50 ms': p50, 'p99 ms': p99 } };
    },
  };
}

/** All scenarios, by their names for `--only`, in the order in which they run. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'list-20': loadScenario({ title: 'List 20 orders', status: 200 }),
  cancel: loadScenario({
    title: 'Cancel pending orders',
    method: 'DELETE',
    path: ({ nextId }) => `${LIST}/${nextId()}`,
    status: 204,
    orderCount: ({ rounds, seconds }) => (rounds + 1) * seconds * 2 * CANCELS_PER_SECOND_MAX,
    cancels: true,
  }),
  'cancel-unknown': loadScenario({
    title: 'Cancel unknown ids',
    method: 'DELETE',
    path: () => `${LIST}/999999999999`,
    status: 404,
  }),
  refused: loadScenario({ title: 'Refuse with 429', key: 'exhausted', status: 429 }),
  'list-10k': loadScenario({ title: 'List 10,000 orders', status: 200, connections: 4, orderCount: () => 10_000 }),
  'list-1m': {
    title: 'One long list',
    rows: BOTH,
    orderCount: ({ longListCount }) => longListCount,
    async measure(_row, { url }, { keys }) {
      const startMs = performance.now();
      const response = await fetch(url + LIST, { headers: { authorization: `Bearer ${keys.unlimited}` } });
      if (response.status !== 200 || response.body === null)
        throw new Error(`a list has the status ${response.status}`);
      let firstByteMs = 0;
      for await (const _chunk of response.body) firstByteMs ||= performance.now() - startMs;
      return { requests: 1, figures: { 'whole ms': performance.now() - startMs, 'first byte ms': firstByteMs } };
    },
  },
  'trpc-1m': {
    title: 'The same list by the client package',
    rows: { tRPC: 'service', REST: 'service' },
    orderCount: ({ longListCount }) => longListCount,
    async measure(row, { url }, { keys, longListCount }) {
      const client = createPetstoreClient({ baseUrl: url, apiKey: keys.unlimited });
      const startMs = performance.now();
      let firstOrderMs = 0;
      let orders = 0;
      const count = (more: number) => {
        firstOrderMs ||= performance.now() - startMs;
        orders += more;
      };
      if (row === 'tRPC') for await (const batch of await client.orders.list.query()) count(batch.length);
      else for await (const _order of client.rest.listOrders()) count(1);
      if (orders !== longListCount) throw new Error(`${row} listed ${orders} orders, not ${longListCount}`);
      return { requests: 1, figures: { 'whole ms': performance.now() - startMs, 'first order ms': firstOrderMs } };
    },
  },
};
