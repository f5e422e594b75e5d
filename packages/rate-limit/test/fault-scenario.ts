import { startRedisServer } from '@petstore/testing';
import { Redis } from 'ioredis';
import {
  connectRedis,
  type LimiterStateChange,
  type RateLimitDecision,
  type RateLimitSubject,
  ResilientLimiter,
} from '../src/index.ts';

/** The longest that a request may wait because of the limiter. */
export const WAIT_MAX_MS = 150;

type ServerOptions = Parameters<typeof startRedisServer>[0];

/** A limiter on a Redis that may be hurt. */
export async function openScenario({ instances = 1, config = {} }: { instances?: number; config?: object } = {}) {
  const server = await startRedisServer({ config: config as NonNullable<NonNullable<ServerOptions>['config']> });
  const redis = connectRedis({ type: 'single', host: '127.0.0.1', port: server.port, database: 0, tls: false });
  const changes: LimiterStateChange[] = [];
  const limiter = new ResilientLimiter({ redis, instances, onStateChange: (change) => changes.push(change) });
  await limiter.started;
  return {
    server,
    limiter,
    changes,
    /** Sends a command from elsewhere. */
    async command(name: string, ...parameters: (string | number)[]): Promise<unknown> {
      const client = new Redis(server.port, { maxRetriesPerRequest: 1, enableReadyCheck: false });
      try {
        return await client.call(name, ...parameters);
      } finally {
        client.disconnect();
      }
    },
    async [Symbol.asyncDispose]() {
      limiter.close();
      redis.disconnect();
      await server[Symbol.asyncDispose]();
    },
  };
}

export interface LoadReport {
  readonly decisions: readonly RateLimitDecision[];
  readonly admitted: number;
  /** The longest wait for an answer, less what the machine itself held this process up. */
  readonly longestWaitMs: number;
}

/** Sends requests for the subjects in turn, ten at a time, until the work is done. A rejection fails it. */
export async function runUnderLoad(
  limiter: ResilientLimiter,
  subjects: readonly RateLimitSubject[],
  work: () => Promise<unknown>,
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
      const sentAtMs = performance.now();
      decisions.push(await limiter.check(subject, 1));
      longestWaitMs = Math.max(longestWaitMs, performance.now() - sentAtMs);
      await sleep(2);
    }
  };
  const callers = Promise.all(Array.from({ length: 10 }, caller));
  try {
    await work();
  } finally {
    isDone = true;
    await callers;
    lag.stop();
  }
  const admitted = decisions.filter(({ outcome }) => outcome === 'admitted').length;
  return { decisions, admitted, longestWaitMs: longestWaitMs - lag.longestMs };
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** How late timers fire, at most. */
function watchLag() {
  const lag = { longestMs: 0, stop: () => clearInterval(timer) };
  let beforeMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    lag.longestMs = Math.max(lag.longestMs, nowMs - beforeMs - 10);
    beforeMs = nowMs;
  }, 10);
  return lag;
}
