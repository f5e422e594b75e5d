import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { KEYS, type TestKey } from '@petstore/server/test-support/database';
import type { SpawnedServer } from '@petstore/server/test-support/spawned-server';
import { vi } from 'vitest';

/** Long enough to send each kind of request several times. */
const OBSERVATION_MS = 1_500;

/** The event loop lags so much now and then if other programs run on the machine. */
const CALM_SECONDS = 0.1;
const ATTEMPTS = 10;
const SERVER_LAG = 'nodejs_eventloop_lag_p99_seconds';

export interface ObservationOptions extends TrafficOptions {
  /** The least duration of the observation. @default 1500 */
  readonly ms?: number;
  /** What the fault delays: the event loop, or requests. It is then no reason to observe again. @default nothing */
  readonly delays?: 'event loop' | 'requests';
  /** Runs during the observation, which is not repeated then. */
  readonly during?: () => Promise<unknown>;
}

interface Lag extends Disposable {
  readonly p99Seconds: number;
  reset(): void;
}

/** Measures how late the event loop of this process is. */
function monitorLag(): Lag {
  const histogram = monitorEventLoopDelay();
  histogram.enable();
  return {
    get p99Seconds() {
      return histogram.percentile(99) / 1e9;
    },
    reset: () => histogram.reset(),
    [Symbol.dispose]: () => void histogram.disable(),
  };
}

/** A server under everyday traffic. */
export class WatchedServer {
  readonly server: SpawnedServer;
  readonly url: string;
  readonly adminUrl: string;

  private constructor(server: SpawnedServer, url: string, adminUrl: string) {
    this.server = server;
    this.url = url;
    this.adminUrl = adminUrl;
  }

  /** Waits until the server is ready and has served for a while, so that the work of its start is done. */
  static async of(server: SpawnedServer): Promise<WatchedServer> {
    const watched = new WatchedServer(server, await server.url(), await server.adminUrl());
    await using _traffic = startTraffic(watched.url);
    await sleep(700);
    await scrape(watched.adminUrl); // begins the measurement of what is reported since the last scrape
    return watched;
  }

  /**
   * Observes the server under traffic. If this process, the server or a request was late although the fault delays none of
   * them, the machine probably had too much else to do, and the observation is repeated.
   */
  async observe({ ms = OBSERVATION_MS, during, delays, ...traffic }: ObservationOptions = {}): Promise<Observed> {
    await using _traffic = startTraffic(this.url, traffic);
    using lag = monitorLag();
    for (let attempt = 1; ; attempt++) {
      lag.reset();
      const from = await scrape(this.adminUrl);
      await Promise.all([sleep(ms), during?.()]);
      const to = await scrape(this.adminUrl);
      const isOnTime = Math.max(lag.p99Seconds, to.values.get(SERVER_LAG) ?? 0) < CALM_SECONDS;
      const isQuick = countSlowRequests(to) === countSlowRequests(from);
      const isCalm = (isOnTime || delays === 'event loop') && (isQuick || delays !== undefined);
      if (isCalm || during !== undefined || attempt === ATTEMPTS) return { from, to };
    }
  }

  /** Waits until the server is no longer busy with what was begun. */
  async untilCalm(): Promise<void> {
    await scrape(this.adminUrl); // a scrape reports the lag since the one before
    const isCalm = async () => (await this.read(SERVER_LAG)) < CALM_SECONDS;
    await vi.waitUntil(isCalm, { timeout: 60_000, interval: 500 });
  }

  /** Sends a request, and reads the response. @returns its status */
  async send(path: string, { text } = KEYS.unlimited): Promise<number> {
    const response = await fetch(this.url + path, { headers: { authorization: `Bearer ${text}` } });
    await response.arrayBuffer();
    return response.status;
  }

  /** Waits until a request is served again. */
  async untilServed(path: string): Promise<void> {
    await vi.waitUntil(async () => (await this.send(path)) === 200, { timeout: 60_000, interval: 100 });
  }

  /** The value of a series now. */
  async read(series: string): Promise<number> {
    return (await scrape(this.adminUrl)).values.get(series) ?? Number.NaN;
  }
}

/** The values of a server's /metrics at one moment. */
interface Scrape {
  readonly atMs: number;
  /** By name and labels, as in `name{label="value"}`. */
  readonly values: ReadonlyMap<string, number>;
  /** The names of series that only rise: counters, and those of histograms. */
  readonly risingNames: ReadonlySet<string>;
}

/** Two moments of the same server. What happened between them is taken to go on. */
export interface Observed {
  readonly from: Scrape;
  readonly to: Scrape;
}

const SAMPLE = /^([a-z_]\w*(?:\{.*\})?) (\S+)$/gm;
const TYPE = /^# TYPE (\w+) (\w+)$/gm;
const VALUES: Readonly<Record<string, number>> = { NaN: Number.NaN, '+Inf': Number.POSITIVE_INFINITY };

async function scrape(adminUrl: string): Promise<Scrape> {
  const response = await fetch(`${adminUrl}/metrics`);
  const text = await response.text();
  const values = Array.from(text.matchAll(SAMPLE), ([, name = '', value = '']) => {
    return [name, VALUES[value] ?? Number(value)] as const;
  });
  const risingNames = Array.from(text.matchAll(TYPE)).flatMap(([, name = '', type = '']) => {
    if (type === 'counter') return [name];
    return type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [];
  });
  return { atMs: Date.now(), values: new Map(values), risingNames: new Set(risingNames) };
}

const DURATION = 'petstore_http_request_duration_seconds';

/** Requests since the start that took longer than 0.5 s, as PetstoreRequestsSlow counts them, and lists besides. */
function countSlowRequests({ values }: Scrape): number {
  let slow = 0;
  for (const [series, value] of values) {
    if (series.startsWith(`${DURATION}_count`)) slow += value;
    else if (series.startsWith(`${DURATION}_bucket`) && series.includes('le="0.5"')) slow -= value;
  }
  return slow;
}

interface TrafficOptions {
  /** How many requests are sent in a second. @default 60 */
  readonly rate?: number;
  /** Whether lists are read, which takes long if there are many orders. @default true */
  readonly hasLists?: boolean;
  /** A key that sends more requests than its plan allows. @default none */
  readonly busyKey?: TestKey | undefined;
}

/** One request in so many looks up a pet, which is a deprecated operation. */
const ONE_IN_PETS = 20;

const bearer = (key: TestKey) => ({ authorization: `Bearer ${key.text}` });
const tRpcInput = (input: Record<string, unknown>, bigints: readonly string[]) =>
  JSON.stringify({ json: input, meta: { values: Object.fromEntries(bigints.map((name) => [name, ['bigint']])) } });

/**
 * Requests such as callers send, in turn: lists, pages, single orders and changes of them, over REST and tRPC, with the
 * usual errors.
 */
const REQUESTS = [
  (url: string) => fetch(`${url}/v1/store/orders`, { headers: bearer(KEYS.unlimited) }),
  (url: string) => fetch(`${url}/v2/store/orders?limit=5`, { headers: bearer(KEYS.unlimited) }),
  (url: string, i: number) => fetch(`${url}/v2/store/orders/${(i % 20) + 1}`, { headers: bearer(KEYS.unlimited) }),
  (url: string) =>
    fetch(`${url}/trpc/orders.place`, {
      method: 'POST',
      headers: { ...bearer(KEYS.internal), 'content-type': 'application/json' },
      body: tRpcInput({ petId: '7', quantity: 1 }, ['petId']),
    }),
  (url: string, i: number) =>
    fetch(`${url}/v1/store/orders/${(i % 2_000) + 1}`, { method: 'DELETE', headers: bearer(KEYS.unlimited) }),
  (url: string, i: number) => {
    const input = encodeURIComponent(tRpcInput({ orderId: String((i % 20) + 1) }, ['orderId']));
    return fetch(`${url}/trpc/orders.get?input=${input}`, { headers: bearer(KEYS.internal) });
  },
  (url: string) => fetch(`${url}/v1/nothing`, { headers: bearer(KEYS.unlimited) }),
];

/** Sends requests of all kinds to a server, whether they succeed or fail, until it is disposed of. */
export function startTraffic(
  url: string,
  { rate = 60, hasLists = true, busyKey }: TrafficOptions = {},
): AsyncDisposable {
  const stop = new AbortController();
  const pending = new Set<Promise<unknown>>();
  const send = (i: number): Promise<Response> => {
    if (i % ONE_IN_PETS === 0) return fetch(`${url}/v1/pets/1`, { headers: bearer(KEYS.unlimited) });
    if (i % 50 === 1) return fetch(`${url}/v1/store/orders`);
    if (i % 20 === 2 && busyKey !== undefined) return fetch(`${url}/v2/store/orders/1`, { headers: bearer(busyKey) });
    const kinds = hasLists ? REQUESTS : REQUESTS.slice(1);
    return (kinds[i % kinds.length] as (typeof REQUESTS)[number])(url, i); // within the array
  };
  const sending = (async () => {
    for (let i = 0; rate > 0 && !stop.signal.aborted; i++) {
      const request = send(i)
        .then((response) => response.arrayBuffer())
        .catch(() => {})
        .finally(() => pending.delete(request));
      pending.add(request);
      await sleep(1_000 / rate);
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await sending;
      await Promise.all(pending);
    },
  };
}
