import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_KEY_CHANGED_CHANNEL, type ApiKey, type ApiKeyId } from '@petstore/domain';
import type { ApiKeyReason } from '@petstore/persistence';
import type { RedisTarget } from '@petstore/runtime';
import { CommandError } from '../errors.ts';
import type { Output } from '../output.ts';
import type { Session } from '../session.ts';

const REDIS_TIMEOUT_MS = 1_000;

/** @throws CommandError where there is none */
export async function findKey({ persistence }: Session, id: ApiKeyId): Promise<ApiKey> {
  return (await persistence.keyAdministration.findKey(id)) ?? rejectKey('key_not_found', id);
}

/** @throws CommandError always */
export function rejectKey(reason: ApiKeyReason, id: ApiKeyId): never {
  switch (reason) {
    case 'key_not_found':
      throw new CommandError(`key ${id} not found`);
    case 'key_revoked':
      throw new CommandError(`key ${id} is revoked; create another with "petstore keys create"`);
    case 'key_expired':
      throw new CommandError(`key ${id} has expired; create another with "petstore keys create"`);
    default:
      return reason satisfies never;
  }
}

/** Makes all servers drop the key from their caches. Without Redis they see the change within 5 s by themselves. */
export async function announceKeyChange(session: Session, id: ApiKeyId, output: Output): Promise<void> {
  try {
    const target = session.settings.redis;
    if (target !== undefined) await publishKeyChange(target, id);
  } catch {
    output.message('The running servers could not be notified over Redis; they will see the change within 5 s.');
  }
}

async function publishKeyChange(target: RedisTarget, id: ApiKeyId): Promise<void> {
  const { connectRedis } = await import('@petstore/rate-limit');
  const redis = connectRedis(target);
  const published = once(redis, 'ready').then(() => redis.publish(API_KEY_CHANGED_CHANNEL, id));
  const timeout = new AbortController();
  try {
    const timedOut = sleep(REDIS_TIMEOUT_MS, undefined, timeout).then(() => Promise.reject(new Error('timed out')));
    await Promise.race([published, timedOut]);
  } finally {
    timeout.abort();
    redis.disconnect();
  }
}
