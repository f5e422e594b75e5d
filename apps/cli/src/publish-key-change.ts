import type { ApiKeyId } from '@petstore/domain';
import { channelsOf, connectForOperator } from '@petstore/rate-limit';
import type { RedisTarget } from '@petstore/runtime';

/** Tells the running servers that a key has changed. @throws Error if Redis does not accept it */
export async function publishKeyChange(target: RedisTarget, redisPrefix: string, id: ApiKeyId): Promise<void> {
  const redis = await connectForOperator(target);
  try {
    await redis.publish(channelsOf(redisPrefix).apiKeyChanged, id);
  } finally {
    redis.disconnect();
  }
}
