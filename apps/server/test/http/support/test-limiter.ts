import { once } from 'node:events';
import { connectRedis, type RateLimiter, ResilientLimiter } from '@petstore/rate-limit';

export interface TestLimiter extends AsyncDisposable {
  readonly limiter: RateLimiter;
}

/** The limiter that serves, counting in a real Redis. */
export async function openTestLimiter(redisUrl: string): Promise<TestLimiter> {
  const { hostname: host, port, pathname } = new URL(redisUrl);
  const redis = connectRedis({
    type: 'single',
    host,
    port: Number(port),
    database: Number(pathname.slice(1)),
    tls: false,
  });
  if (redis.status !== 'ready') await once(redis, 'ready');
  const limiter = new ResilientLimiter({
    redis,
    onStateChange({ countedIn, reason }) {
      if (countedIn === 'process') console.error(`the test's Redis is away: ${reason}`);
    },
  });
  return {
    limiter,
    async [Symbol.asyncDispose]() {
      limiter.close();
      redis.disconnect();
    },
  };
}
