import { once } from 'node:events';
import type { ApiKeyId } from '@petstore/domain';
import { channelsOf, connectRedis } from '@petstore/rate-limit';
import type { RedisTarget } from '@petstore/runtime';

const TIMEOUT_MS = 1_000;

/** Tells the running servers that a key has changed. @throws Error if Redis does not accept it within 1 s */
export async function publishKeyChange(target: RedisTarget, redisPrefix: string, id: ApiKeyId): Promise<void> {
  const redis = connectRedis(target);
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(TIMEOUT_MS) });
    await redis.publish(channelsOf(redisPrefix).apiKeyChanged, id);
  } finally {
    redis.disconnect();
  }
}
