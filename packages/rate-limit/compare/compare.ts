import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { WINDOW_MS } from './contender.ts';
import { CONTENDERS } from './contenders/index.ts';
import { type Cost, measureBytes, measureCosts } from './cost.ts';
import { type Exchange, sleepUntil, worstWindow } from './exchange.ts';
import type { ComparedRedis } from './redis-servers.ts';
import {
  type Announcements,
  BOUNDARY_CALLER,
  burstAtBoundary,
  obeyAnnouncements,
  sendAcrossRestart,
  sendSteadily,
  trickleAfterBurst,
} from './scenarios.ts';

/** What was measured of one contender. */
export interface Result {
  readonly name: string;
  readonly algorithm: string;
  readonly cost: Cost & { readonly bytesMax: number };
  /** The highest number admitted in any window, as a multiple of the limit. */
  readonly worst: Readonly<Record<'steady' | 'boundary' | 'trickle' | 'processes' | 'restart', number>>;
  /** Requests that failed while Redis restarted, and all that were sent then. */
  readonly failed: number;
  readonly sent: number;
  readonly announcements: Announcements;
}

export interface Comparison {
  readonly redis: ComparedRedis;
  /** Is killed in the middle. */
  readonly doomedRedis: ComparedRedis;
  readonly showProgress: (text: string) => void;
}

const BURST_PROCESS = fileURLToPath(new URL('./burst-process.ts', import.meta.url));
const PROCESSES = 8;
/** From each process: four times the limit in all. */
const BURST = 30;
const run = promisify(execFile);

/** Everything in real time and with windows of 60 s, so that nothing has to be scaled: all contenders at once, but for cost. */
export async function compare({ redis, doomedRedis, showProgress }: Comparison): Promise<Result[]> {
  showProgress('what each takes of Redis');
  const costs = await measureCosts(CONTENDERS, redis.urlOf);
  // Some windows begin with a minute of the clock.
  const startMs = Math.ceil(Date.now() / WINDOW_MS) * WINDOW_MS;
  showProgress(`${Math.ceil((startMs - Date.now()) / 1_000)} s until a minute begins`);
  const bursts = burstTogether(redis, startMs + 15_000);
  const restartMs = startMs + 30_000;
  const restarted = sleepUntil(restartMs).then(() => doomedRedis.restart());
  const ends = sleepUntil(startMs).then(() => showProgress('traffic of two minutes'));
  const behaviours = await Promise.all(
    CONTENDERS.map((_, index) => observe(index, { redis, doomedRedis, startMs, restartMs })),
  );
  await Promise.all([restarted, ends]);
  const exchanges = await bursts;
  return CONTENDERS.map(({ name, algorithm }, index) => {
    const [cost, behaviour] = [costs[index], behaviours[index]];
    if (cost === undefined || behaviour === undefined) throw new Error(`${name} was not measured`);
    const processes = worstWindow(exchanges.get(name) ?? []);
    const { bytesMax, worst, ...rest } = behaviour;
    return { name, algorithm, cost: { ...cost, bytesMax }, worst: { ...worst, processes }, ...rest };
  });
}

interface Surroundings {
  readonly redis: ComparedRedis;
  readonly doomedRedis: ComparedRedis;
  readonly startMs: number;
  readonly restartMs: number;
}

async function observe(index: number, { redis, doomedRedis, startMs, restartMs }: Surroundings) {
  const contender = CONTENDERS[index];
  if (contender === undefined) throw new RangeError(`there is no contender ${index}`);
  await using opened = await contender.open(redis.urlOf(index));
  await using doomed = await contender.open(doomedRedis.urlOf(index));
  const [steady, boundary, trickle, restart, announcements] = await Promise.all([
    sendSteadily(opened, startMs),
    burstAtBoundary(opened, startMs).then(async (exchanges) => ({
      worst: worstWindow(exchanges),
      bytes: await bytesOf(BOUNDARY_CALLER, redis.urlOf(index)),
    })),
    trickleAfterBurst(opened, startMs),
    sendAcrossRestart(doomed, restartMs),
    obeyAnnouncements(opened, startMs),
  ]);
  await contender.fill?.(redis.urlOf(index), 'filled00');
  return {
    bytesMax: Math.max(boundary.bytes, await bytesOf('filled00', redis.urlOf(index))),
    worst: {
      steady: worstWindow(steady),
      boundary: boundary.worst,
      trickle: worstWindow(trickle),
      restart: worstWindow(restart),
    },
    failed: restart.filter(({ verdict }) => verdict.outcome === 'failed').length,
    sent: restart.length,
    announcements,
  };
}

async function bytesOf(caller: string, redisUrl: string): Promise<number> {
  const redis = new Redis(redisUrl);
  try {
    return await measureBytes(redis, caller);
  } finally {
    redis.disconnect();
  }
}

/** The same burst from processes of their own, all at the same moment. */
async function burstTogether(redis: ComparedRedis, atMs: number): Promise<Map<string, Exchange[]>> {
  const urls = CONTENDERS.map((_, index) => redis.urlOf(index)).join();
  const parameters = [BURST_PROCESS, urls, String(atMs), String(BURST)];
  const outputs = await Promise.all(
    Array.from({ length: PROCESSES }, () => run(process.execPath, parameters, { timeout: 2 * WINDOW_MS })),
  );
  const all = outputs.flatMap(({ stdout }): [string, Exchange[]][] => Object.entries(JSON.parse(stdout)));
  const byName = Map.groupBy(all, ([name]) => name);
  return new Map([...byName].map(([name, entries]) => [name, entries.flatMap(([, exchanges]) => exchanges)]));
}
