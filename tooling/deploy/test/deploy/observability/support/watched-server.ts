import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { KEYS } from '@petstore/server/test-support/database';
import type { SpawnedServer } from '@petstore/server/test-support/spawned-server';
import { vi } from 'vitest';
import { type Observed, scrape } from './scrape.ts';
import { startTraffic, type TrafficOptions } from './traffic.ts';

/** Long enough to send each kind of request several times. */
const OBSERVATION_MS = 1_500;

/** The event loop lags so much now and then if other programs run on the machine. */
const CALM_SECONDS = 0.1;
const ATTEMPTS = 10;
const SERVER_LAG = 'nodejs_eventloop_lag_p99_seconds';

export interface ObservationOptions extends TrafficOptions {
  /** The least duration of the observation. @default 1500 */
  readonly ms?: number;
  /** Whether the fault delays the server, so that a lag is no reason to observe it again. @default false */
  readonly isLate?: boolean;
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
   * Observes the server under traffic. If this process or the server was late, the machine probably had too much else to
   * do, and the observation is repeated.
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
