import { API_KEY_CHANGED_CHANNEL, type ApiKeyId } from '@petstore/domain';
import type { RedisTarget } from '@petstore/runtime';
import { Cluster, Redis } from 'ioredis';
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
  const redis = connect(target);
  redis.on('error', () => {}); // the call below tells
  try {
    await redis.connect();
    await redis.publish(API_KEY_CHANGED_CHANNEL, id);
  } finally {
    redis.disconnect();
  }
}

function connect(target: RedisTarget): Redis | Cluster {
  const { username, password, tls } = target;
  const node = {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: {} }),
    connectTimeout: TIMEOUT_MS,
    commandTimeout: TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    lazyConnect: true,
  };
  const giveUp = () => null;
  switch (target.type) {
    case 'single':
      return new Redis({ ...node, retryStrategy: giveUp, host: target.host, port: target.port, db: target.database });
    case 'cluster':
      return new Cluster([...target.nodes], { redisOptions: node, lazyConnect: true, clusterRetryStrategy: giveUp });
    case 'sentinel':
      return new Redis({
        ...node,
        retryStrategy: giveUp,
        sentinelRetryStrategy: giveUp,
        sentinels: [...target.sentinels],
        name: target.masterName,
        db: target.database,
      });
    default:
      return target satisfies never;
  }
}
