import { setTimeout as sleep } from 'node:timers/promises';
import { connectRedis, type RateLimiter, ResilientLimiter } from '@petstore/rate-limit';

/** How long Redis may take here: counts stay exact however busy the machine is. */
const PATIENCE_MS = 20_000;

export interface TestLimiter extends AsyncDisposable {
  readonly limiter: RateLimiter;
  /** Moves the clock of the limits on, which otherwise runs as Redis' own. */
  advanceClock(milliseconds: number): void;
}

/** The limiter that serves, counting in a real Redis. */
export async function openTestLimiter(redisUrl: string): Promise<TestLimiter> {
  const { hostname: host, port, pathname } = new URL(redisUrl);
  const redis = connectRedis(
    { type: 'single', host, port: Number(port), database: Number(pathname.slice(1)), tls: false },
    { timeoutMs: PATIENCE_MS },
  );
  // The client retries attempts that take too long.
  if (redis.status !== 'ready') await new Promise<void>((resolve) => redis.once('ready', () => resolve()));
  let aheadMs = 0;
  const limiter = new ResilientLimiter({
    redis,
    nowMs: () => Date.now() + aheadMs,
    onStateChange({ countedIn, reason }) {
      if (countedIn === 'process') console.error(`the test's Redis is unavailable: ${reason}`);
    },
  });
  while (limiter.isDegraded) await sleep(1); // until then it counts in the process
  return {
    limiter,
    advanceClock: (milliseconds) => {
      aheadMs += milliseconds;
    },
    async [Symbol.asyncDispose]() {
      limiter.close();
      redis.disconnect();
    },
  };
}
