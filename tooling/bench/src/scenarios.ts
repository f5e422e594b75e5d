import { createHistogram } from 'node:perf_hooks';
import { finished } from 'node:stream/promises';
import { Pool } from 'undici';
import { readCpuMs, readPeakMb, type Server, type Servers } from './servers.ts';

/** What clients do: each sends a request, reads the whole response, and sends the next. */
export interface Scenario {
  /** N stands for the number of orders. */
  readonly title: string;
  readonly clients: number;
  readonly key?: keyof Servers['keys'];
  /** Whether each request cancels another pending order. @default false: each lists the orders */
  readonly cancels?: boolean;
  /** The expected status of every response. */
  readonly status: number;
  /** The number of orders in the database; at most 100,000 when quick. */
  readonly orderCount: number;
}

/** All scenarios, by their names for `--only`, in the order in which they run. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'list-20': { title: 'List N orders', clients: 32, status: 200, orderCount: 20 },
  cancel: { title: 'Cancel an order', clients: 32, cancels: true, status: 204, orderCount: 1_000_000 },
  refused: { title: 'Refuse with 429', clients: 32, key: 'exhausted', status: 429, orderCount: 20 },
  'list-10k': { title: 'List N orders', clients: 4, status: 200, orderCount: 10_000 },
  'list-1m': { title: 'List N orders', clients: 1, status: 200, orderCount: 1_000_000 },
};

/** Processor time is that of a request; the first byte is that of the median response; memory is the contender's. */
export const FIGURES = ['requests/s', 'first byte ms', 'CPU ms', 'of PostgreSQL', 'of Redis', 'peak MB'] as const;
export type Figures = Readonly<Record<(typeof FIGURES)[number], number>>;

interface Load {
  readonly seconds: number;
  readonly scenario: Scenario;
  readonly servers: Servers;
  /** Numbers orders from 1, across all rounds of a scenario. */
  readonly nextId: () => number;
}

/** Loads a contender once. @throws Error if a response was wrong */
export async function measure(contender: Server, { scenario, servers, seconds, nextId }: Load): Promise<Figures> {
  const { clients, key = 'unlimited', cancels = false, status } = scenario;
  const headers = { authorization: `Bearer ${servers.keys[key]}` };
  const firstBytes = createHistogram();
  await using stack = new AsyncDisposableStack();
  const pool = stack.adopt(new Pool(contender.url, { connections: clients }), (opened) => opened.close());
  const readCosts = () => [contender, servers.postgres, servers.redis].map(({ pid }) => readCpuMs(pid));
  const before = readCosts();
  const startMs = performance.now();
  const sendRequests = async () => {
    while (performance.now() < startMs + seconds * 1000) {
      const sentMs = performance.now();
      const path = `/v1/store/orders${cancels ? `/${nextId()}` : ''}`;
      const { statusCode, body } = await pool.request({ method: cancels ? 'DELETE' : 'GET', path, headers });
      firstBytes.record(Math.ceil((performance.now() - sentMs) * 1e6)); // nanoseconds
      await finished(body.resume());
      if (statusCode !== status) throw new Error(`${status} expected, response: ${statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: clients }, sendRequests));
  const elapsedMs = performance.now() - startMs;
  const { count } = firstBytes;
  const [cpuMs = 0, postgresMs = 0, redisMs = 0] = readCosts().map((ms, i) => (ms - (before[i] ?? 0)) / count);
  return {
    'requests/s': (count / elapsedMs) * 1000,
    'first byte ms': firstBytes.percentile(50) / 1e6,
    'CPU ms': cpuMs,
    'of PostgreSQL': postgresMs,
    'of Redis': redisMs,
    'peak MB': readPeakMb(contender.pid),
  };
}
