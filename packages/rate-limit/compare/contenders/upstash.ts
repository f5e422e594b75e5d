import { createHash } from 'node:crypto';
import { Ratelimit, type RatelimitConfig } from '@upstash/ratelimit';
import { Redis } from 'ioredis';
import { ADMITTED, type Contender, LIMIT, WINDOW_MS } from '../contender.ts';

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex');

/**
 * What the library uses of its own client, which speaks HTTP to a hosted Redis. The scripts are the library's but for
 * their first line: it has a flag of that Redis, which others refuse.
 */
function adapt(redis: Redis) {
  const hashes = new Map<string, string>();
  const run = (command: 'eval' | 'evalsha', script: string, keys: string[], values: unknown[]) =>
    redis[command](script, keys.length, ...keys, ...values.map(String));
  return {
    evalsha: async (hash: string, keys: string[], values: unknown[]) =>
      run('evalsha', hashes.get(hash) ?? hash, keys, values),
    eval: async (script: string, keys: string[], values: unknown[]) => {
      const plain = script.replace(/^#!.*\n/, '');
      hashes.set(sha1(script), sha1(plain));
      return run('eval', plain, keys, values);
    },
  };
}

const contender = (algorithm: string, limiter: RatelimitConfig['limiter']): Contender => ({
  name: `@upstash/ratelimit ${algorithm}`,
  algorithm,
  open: async (redisUrl) => {
    const redis = new Redis(redisUrl);
    redis.on('error', () => {}); // the requests that fail for it say so
    // The type is that of the whole client, of which the library calls these two.
    const ratelimit = new Ratelimit({ redis: adapt(redis) as never, limiter });
    return {
      request: async (caller) => {
        const { success, reset } = await ratelimit.limit(caller);
        return success ? ADMITTED : { outcome: 'refused', retryAtMs: reset };
      },
      [Symbol.asyncDispose]: async () => redis.disconnect(),
    };
  },
});

const WINDOW = `${WINDOW_MS} ms` as const;

export const upstash: readonly Contender[] = [
  contender('fixed window', Ratelimit.fixedWindow(LIMIT, WINDOW)),
  contender('sliding window', Ratelimit.slidingWindow(LIMIT, WINDOW)),
  contender('token bucket', Ratelimit.tokenBucket(1, `${WINDOW_MS / LIMIT} ms`, LIMIT)),
];
