import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_KEY_CHANGED_CHANNEL, type ApiKeyId } from '@petstore/domain';
import { connectRedis } from '@petstore/rate-limit';
import type { RedisTarget } from '@petstore/runtime';
import type { Output } from './output.ts';
import type { Session } from './session.ts';

const TIMEOUT_MS = 1_000;

/**
 * Tells all servers that a key has changed, so that they forget what they know of it. Without Redis, or where it does not
 * answer, they see the change by themselves within 5 s.
 */
export async function announceKeyChange(session: Session, id: ApiKeyId, { say }: Output): Promise<void> {
  try {
    const target = await session.findRedis();
    if (target !== undefined) await publish(target, id);
  } catch {
    say('The running servers could not be told over Redis; they will see the change within 5 s.');
  }
}

async function publish(target: RedisTarget, id: ApiKeyId): Promise<void> {
  const redis = connectRedis(target);
  const told = once(redis, 'ready').then(() => redis.publish(API_KEY_CHANGED_CHANNEL, id));
  const waiting = new AbortController();
  try {
    await Promise.race([
      told,
      sleep(TIMEOUT_MS, undefined, waiting).then(() => {
        throw new Error('Redis does not answer');
      }),
    ]);
  } finally {
    waiting.abort();
    redis.disconnect();
  }
}
