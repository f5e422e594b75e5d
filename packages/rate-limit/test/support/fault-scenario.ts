import { type RedisServerOptions, startRedisServer } from '@petstore/testing';
import { Redis } from 'ioredis';
import { expect, vi } from 'vitest';
import {
  connectRedis,
  type LimiterStateChange,
  type RateLimitDecision,
  type RedisConnectionOptions,
  ResilientLimiter,
  type ResilientLimiterOptions,
  type Subject,
} from '../../src/index.ts';
import { newAddress } from './traffic.ts';

/**
 * The longest that a request may wait for a Redis that is silent: more than the 100 ms of a call by what a busy machine adds,
 * and far less than Redis is away for.
 */
export const WAIT_MAX_MS = 500;

/**
 * For tests that expect exact counts of a Redis that responds, or of one whose connections break: were it or this process
 * held up for 100 ms, requests would be counted here, which is what the limiter is made for and not what is tested.
 */
export const PATIENT = { timeoutMs: 10_000 };

/** Redis must be in use again this long after it can be. */
const RETURN_MS = 10_000;

/** A limiter that counts in Redis, and what it has reported since. Disposing of it closes the connection, too. */
export async function openLimiter(options: Omit<ResilientLimiterOptions, 'onStateChange'>) {
  const changes: LimiterStateChange[] = [];
  const limiter = new ResilientLimiter({ ...options, onStateChange: (change) => changes.push(change) });
  await untilInUse(limiter);
  changes.length = 0; // a start that took long was reported
  return {
    limiter,
    changes,
    [Symbol.dispose]() {
      limiter.close();
      options.redis.disconnect();
    },
  };
}

type ScenarioOptions = Pick<RedisServerOptions, 'config'> &
  Pick<RedisConnectionOptions, 'timeoutMs'> &
  Omit<ResilientLimiterOptions, 'redis' | 'onStateChange'>;

/** A limiter on a Redis of its own, which may be killed, frozen or reconfigured. */
export async function openScenario({ config = {}, timeoutMs = 100, ...options }: ScenarioOptions = {}) {
  const server = await startRedisServer({ config });
  const location = { type: 'single', host: '127.0.0.1', port: server.port, database: 0, tls: false } as const;
  const redis = connectRedis(location, { timeoutMs });
  const { limiter, changes, ...opened } = await openLimiter({ redis, ...options });
  return {
    server,
    limiter,
    changes,
    /** Kills the server, and waits until this side has noticed: what is sent before that may have run. */
    async kill(): Promise<void> {
      await server.kill();
      await vi.waitUntil(() => redis.status !== 'ready', { timeout: RETURN_MS, interval: 1 });
    },
    /** Sends a command from elsewhere. */
    command: (name: string, ...parameters: (string | number)[]): Promise<unknown> =>
      ask(server.port, (client) => client.call(name, ...parameters)),
    async [Symbol.asyncDispose]() {
      opened[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** A clock for a limiter that runs as the real one does, and can be moved ahead. */
export function movableClock() {
  let aheadMs = 0;
  return {
    nowMs: () => Date.now() + aheadMs,
    advance: (ms: number) => {
      aheadMs += ms;
    },
  };
}

/** Asks a Redis server over a connection of its own. */
export async function ask<Answer>(port: number, question: (client: Redis) => Promise<Answer>): Promise<Answer> {
  const client = new Redis(port, { maxRetriesPerRequest: 1, enableReadyCheck: false });
  try {
    return await question(client);
  } finally {
    client.disconnect();
  }
}

/** Waits until nothing is counted in the process any more. */
export const untilInUse = (limiter: ResilientLimiter): Promise<void> =>
  eventually(() => expect(limiter.isDegraded).toBe(false));

/** Sends requests of others until Redis counts as away. */
export const untilAway = (limiter: ResilientLimiter): Promise<void> =>
  eventually(async () => {
    await limiter.check(newAddress(), 1);
    expect(limiter.isDegraded).toBe(true);
  });

/** Waits until that is so. */
export const eventually = (promise: () => unknown, timeout = RETURN_MS): Promise<void> =>
  vi.waitFor(async () => void (await promise()), { timeout, interval: 1 });

export interface LoadReport {
  readonly decisions: readonly RateLimitDecision[];
  readonly admitted: number;
  /** The longest wait for a decision, less what the machine itself held this process up. */
  readonly longestWaitMs: number;
}

/**
 * Sends requests for the subjects in turn, ten at a time, until the work is done, which sees the decisions so far. A
 * rejection fails it.
 */
export async function runUnderLoad(
  limiter: ResilientLimiter,
  subjects: readonly Subject[],
  work: (decisions: readonly RateLimitDecision[]) => Promise<unknown>,
): Promise<LoadReport> {
  const decisions: RateLimitDecision[] = [];
  const lag = watchLag();
  let longestWaitMs = 0;
  let isDone = false;
  let turn = 0;
  const caller = async () => {
    while (!isDone) {
      const subject = subjects[turn++ % subjects.length];
      if (subject === undefined) throw new Error('no subjects');
      const [sentAtMs, lagBeforeMs] = [performance.now(), lag.totalMs];
      decisions.push(await limiter.check(subject, 1));
      const waitMs = performance.now() - sentAtMs;
      await sleep(2); // a delay that has just ended is known after the next timers
      longestWaitMs = Math.max(longestWaitMs, waitMs - (lag.totalMs - lagBeforeMs));
    }
  };
  const callers = Promise.all(Array.from({ length: 10 }, caller));
  try {
    await work(decisions);
  } finally {
    isDone = true;
    await callers;
    lag.stop();
  }
  const admitted = decisions.filter(({ outcome }) => outcome === 'admitted').length;
  return { decisions, admitted, longestWaitMs };
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** How late timers fire, all in all. */
export function watchLag() {
  const lag = { totalMs: 0, stop: () => clearInterval(timer) };
  let beforeMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    lag.totalMs += Math.max(0, nowMs - beforeMs - 10);
    beforeMs = nowMs;
  }, 10);
  return lag;
}
