import { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { ADMITTED, type Contender, LIMIT, type OpenContender, WINDOW_MS } from '../contender.ts';

async function open(redisUrl: string): Promise<OpenContender> {
  const redis = new Redis(redisUrl, { enableOfflineQueue: false });
  redis.on('error', () => {}); // the requests that fail for it say so
  await new Promise((resolve) => redis.once('ready', resolve));
  const limiter = new RateLimiterRedis({ storeClient: redis, points: LIMIT, duration: WINDOW_MS / 1_000 });
  return {
    request: async (caller) => {
      try {
        await limiter.consume(caller);
        return ADMITTED;
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        return { outcome: 'refused', retryAtMs: Date.now() + refusal.msBeforeNext };
      }
    },
    [Symbol.asyncDispose]: async () => redis.disconnect(),
  };
}

export const rateLimiterFlexible: Contender = { name: 'rate-limiter-flexible', algorithm: 'fixed window', open };
