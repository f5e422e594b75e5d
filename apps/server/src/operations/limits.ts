import { API_KEY_CHANGED_CHANNEL, type ApiKeyId } from '@petstore/domain';
import {
  connectRedis,
  createResilientLimiter,
  InProcessLimiter,
  type LimiterStateChange,
  type RateLimiter,
  watchEviction,
} from '@petstore/rate-limit';
import { type RedisTarget, RuntimeError } from '@petstore/runtime';
import type { Logger } from 'pino';
import type { LimitsMode } from './health.ts';

/** The limiter, and how it counts. */
export interface Limits {
  readonly limiter: RateLimiter;
  /** Resolves when Redis was reached, or is known to be away. */
  readonly started: Promise<void>;
  mode(): LimitsMode;
  /** Why Redis is away, where it is: one short line without a secret. */
  awayReason(): string | undefined;
  /** How often requests have gone from Redis into this process, or back. */
  modeChanges(): number;
}

export interface LimitsOptions {
  /** Begins the name of every key in Redis. */
  readonly redisPrefix: string;
  readonly instances: number;
  /** Whether other servers share the port, and so have to share the limits. */
  readonly reusePort: boolean;
  readonly logger: Logger;
  /** Called when a key was changed anywhere, which Redis publishes. */
  readonly onKeyChanged: (id: ApiKeyId) => void;
}

const NO_SHARED_REDIS =
  'REUSE_PORT is on, and there is no Redis in which the servers could count limits together. Set REDIS_URL.';

const ADVICE = 'Set maxmemory-policy volatile-ttl.';
/** Where Redis has a most memory: what its policy costs once that is used. */
const FORGETS = `A full Redis will forget keys that have used up their limits, and bans. ${ADVICE}`;
const EVICTION_RISKS: Readonly<Record<string, string>> = {
  noeviction: `Once Redis is full, all limits are counted in this process. ${ADVICE}`,
};

/**
 * @param target `undefined` where there is no Redis: this process then counts for itself
 * @throws RuntimeError where several servers would each count for themselves
 */
export function openLimits(
  target: RedisTarget | undefined,
  { redisPrefix, instances, reusePort, logger, onKeyChanged }: LimitsOptions,
  resources: AsyncDisposableStack,
): Limits {
  if (target === undefined) {
    if (reusePort) throw new RuntimeError(NO_SHARED_REDIS);
    const limiter = new InProcessLimiter({ nowMs: Date.now });
    return {
      limiter,
      started: Promise.resolve(),
      mode: () => 'in-process',
      awayReason: () => undefined,
      modeChanges: () => 0,
    };
  }
  let changes = 0;
  const onStateChange = ({ countedIn, shard, reason }: LimiterStateChange) => {
    changes++;
    if (countedIn === 'process') logger.warn({ shard, reason }, 'Redis is away: limits are counted in this process');
    else logger.info({ shard }, 'Redis is back: limits are counted there');
  };
  const redis = connectRedis(target, { keyPrefix: redisPrefix });
  resources.defer(() => redis.disconnect());
  watchEviction(redis, (node) => logger.warn(node, EVICTION_RISKS[node.policy] ?? FORGETS));
  const limiter = createResilientLimiter({ redis, instances, onStateChange });
  resources.defer(() => limiter.close());
  resources.defer(listenToKeyChanges(target, onKeyChanged));
  return {
    limiter,
    started: limiter.started,
    mode: () => (limiter.isDegraded ? 'degraded' : 'redis'),
    awayReason: () => limiter.awayReason,
    modeChanges: () => changes,
  };
}

/** A connection that has subscribed can do nothing else. What it misses while it is lost takes effect within seconds. */
function listenToKeyChanges(target: RedisTarget, onKeyChanged: (id: ApiKeyId) => void): () => void {
  const subscriber = connectRedis(target);
  subscriber.on('ready', () => {
    subscriber.subscribe(API_KEY_CHANGED_CHANNEL).catch(() => {}); // lost again; it subscribes when it is back
  });
  subscriber.on('message', (_, id: string) => onKeyChanged(id as ApiKeyId)); // what the channel carries
  return () => subscriber.disconnect();
}
