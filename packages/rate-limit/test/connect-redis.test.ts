import { Cluster } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { connectRedis, type RedisLocation } from '../src/index.ts';

const NOTHING_LISTENS = { host: '127.0.0.1', port: 1 };

describe('a connection that is lost', () => {
  test.each([
    { type: 'single', ...NOTHING_LISTENS, database: 0, tls: false },
    { type: 'sentinel', sentinels: [NOTHING_LISTENS], masterName: 'orders', database: 0, tls: false },
    { type: 'cluster', nodes: [NOTHING_LISTENS], tls: false },
  ] satisfies RedisLocation[])('is made anew within 2 s, however long Redis was away: $type', (location) => {
    const redis = connectRedis(location);
    const { options } = redis;
    const waitsOf = redis instanceof Cluster ? [redis.options.clusterRetryStrategy] : [redis.options.retryStrategy];
    if ('sentinelRetryStrategy' in options && location.type === 'sentinel') waitsOf.push(options.sentinelRetryStrategy);
    expect(waitsOf).toHaveLength(location.type === 'sentinel' ? 2 : 1);
    for (const waitOf of waitsOf) {
      for (const attempt of [1, 2, 3, 6, 7, 100, 1_000_000]) {
        const waitMs = waitOf?.(attempt);
        expect(waitMs).toBeGreaterThanOrEqual(50);
        expect(waitMs).toBeLessThanOrEqual(1_000);
      }
    }
    const { connectTimeout } = redis instanceof Cluster ? (redis.options.redisOptions ?? {}) : redis.options;
    expect(connectTimeout).toBeLessThanOrEqual(1_000); // where nothing so much as refuses
    redis.disconnect();
  });
});
