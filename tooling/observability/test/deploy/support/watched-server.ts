import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { KEYS, type SpawnedServer } from '@petstore/server/test-support';
import { vi } from 'vitest';
import { type Observed, scrape } from './scrape.ts';
import { startTraffic, type TrafficOptions } from './traffic.ts';

/** Long enough that each kind of request was sent several times. */
const OBSERVATION_MS = 1_500;

/** A lag of the event loop that a process has now and then, with other programs on the machine. */
const CALM_SECONDS = 0.1;
const ATTEMPTS = 5;
const SERVER_LAG = 'nodejs_eventloop_lag_p99_seconds';

export interface ObservationOptions extends TrafficOptions {
  /** At least. @default 1500 */
  readonly ms?: number;
  /** Whether the server is made late, and observed once. @default false */
  readonly isLate?: boolean;
  /** What goes on meanwhile; it is observed once then. */
  readonly during?: () => Promise<unknown>;
}

interface Lag extends Disposable {
  readonly p99Seconds: number;
  reset(): void;
}

/** How late this process is. */
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

  /** Waits until the server is ready and has served for a while, so that what it does at its start is over. */
  static async of(server: SpawnedServer): Promise<WatchedServer> {
    const watched = new WatchedServer(server, await server.url(), await server.adminUrl());
    await using _traffic = startTraffic(watched.url);
    await sleep(700);
    await scrape(watched.adminUrl); // what is measured since the last scrape begins here
    return watched;
  }

  /**
   * Observes it under traffic. Where this process or the server was late the machine has too much else to do, most likely,
   * and it is observed again.
   */
  async observe({
    ms = OBSERVATION_MS,
    during,
    isLate = false,
    ...traffic
  }: ObservationOptions = {}): Promise<Observed> {
    await using _traffic = startTraffic(this.url, traffic);
    using lag = monitorLag();
    for (let attempt = 1; ; attempt++) {
      lag.reset();
      const from = await scrape(this.adminUrl);
      await Promise.all([sleep(ms), during?.()]);
      const to = await scrape(this.adminUrl);
      const isCalm = Math.max(lag.p99Seconds, to.values.get(SERVER_LAG) ?? 0) < CALM_SECONDS;
      if (isCalm || isLate || during !== undefined || attempt === ATTEMPTS) return { from, to };
    }
  }

  /** Waits until what was begun is over, as far as it keeps the server busy. */
  async untilCalm(): Promise<void> {
    await scrape(this.adminUrl); // the lag is that since the last scrape
    const isCalm = async () => (await this.read(SERVER_LAG)) < CALM_SECONDS;
    await vi.waitUntil(isCalm, { timeout: 20_000, interval: 500 });
  }

  /** Sends a request, and reads the response. @returns its status */
  async send(path: string, { text } = KEYS.unlimited): Promise<number> {
    const response = await fetch(this.url + path, { headers: { authorization: `Bearer ${text}` } });
    await response.arrayBuffer();
    return response.status;
  }

  /** Waits until a request is served again. */
  async untilServed(path: string): Promise<void> {
    await vi.waitUntil(async () => (await this.send(path)) === 200, { timeout: 20_000, interval: 100 });
  }

  /** The value of a series now. */
  async read(series: string): Promise<number> {
    return (await scrape(this.adminUrl)).values.get(series) ?? Number.NaN;
  }
}
