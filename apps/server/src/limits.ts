import { API_KEY_CHANGED_CHANNEL, type ApiKeyId } from '@petstore/domain';
import {
  connectRedis,
  createResilientLimiter,
  InProcessLimiter,
  type LimiterStateChange,
  type RateLimiter,
} from '@petstore/rate-limit';
import type { RedisTarget } from '@petstore/runtime';
import type { Logger } from 'pino';
import type { LimitsMode } from './operations/health.ts';

/** Where limits are counted, and how that stands. */
export interface Limits {
  readonly limiter: RateLimiter;
  /** Done when Redis was reached, or is known to be away. */
  readonly started: Promise<void>;
  mode(): LimitsMode;
  /** How often requests have gone from Redis into this process, or back. */
  modeChanges(): number;
  close(): void;
}

export interface LimitsOptions {
  readonly instances: number;
  readonly logger: Logger;
  /** Told by whoever changes a key, through Redis. */
  readonly onKeyChanged: (id: ApiKeyId) => void;
}

/** @param target left out where there is no Redis: this process then counts for itself */
export function openLimits(target: RedisTarget | undefined, options: LimitsOptions): Limits {
  return target === undefined ? openInProcess() : openInRedis(target, options);
}

function openInProcess(): Limits {
  return {
    limiter: new InProcessLimiter({ nowMs: Date.now }),
    started: Promise.resolve(),
    mode: () => 'in-process',
    modeChanges: () => 0,
    close() {},
  };
}

function openInRedis(target: RedisTarget, { instances, logger, onKeyChanged }: LimitsOptions): Limits {
  let changes = 0;
  const onStateChange = ({ countedIn, shard, reason }: LimiterStateChange) => {
    changes++;
    if (countedIn === 'process') logger.warn({ shard, reason }, 'Redis is away: limits are counted in this process');
    else logger.info({ shard }, 'Redis is back: limits are counted there');
  };
  const redis = connectRedis(target);
  const limiter = createResilientLimiter({ redis, instances, onStateChange });
  const stopListening = listenToKeyChanges(target, onKeyChanged);
  return {
    limiter,
    started: limiter.started,
    mode: () => (limiter.isDegraded ? 'degraded' : 'redis'),
    modeChanges: () => changes,
    close() {
      limiter.close();
      redis.disconnect();
      stopListening();
    },
  };
}

/** A connection that has subscribed can do nothing else. What it misses while it is lost is seen within seconds. */
function listenToKeyChanges(target: RedisTarget, onKeyChanged: (id: ApiKeyId) => void): () => void {
  const subscriber = connectRedis(target);
  subscriber.on('ready', () => {
    subscriber.subscribe(API_KEY_CHANGED_CHANNEL).catch(() => {}); // lost again; the next one will do
  });
  subscriber.on('message', (_, id: string) => onKeyChanged(id as ApiKeyId)); // what the channel carries
  return () => subscriber.disconnect();
}
