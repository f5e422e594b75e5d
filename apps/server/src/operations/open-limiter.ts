import { type ApiKeyId, apiKeyIdOf, type Clock } from '@petstore/domain';
import {
  connectRedis,
  countBans,
  InProcessLimiter,
  type LimiterObserver,
  type LimiterStateChange,
  type RateLimiter,
  ResilientLimiter,
  watchEviction,
} from '@petstore/rate-limit';
import type { Logger } from 'pino';
import type { Settings } from '../settings.ts';
import type { Metrics } from './metrics.ts';

/** How limits are counted. */
export type LimitsMode =
  /** In Redis. */
  | 'redis'
  /** In this process while Redis is unavailable. */
  | 'degraded'
  /** In this process, because there is no Redis. */
  | 'in-process';

/** How limits are counted at present. */
interface LimitsState {
  readonly mode: LimitsMode;
  /** Why Redis is unavailable, if it is: one short line without a secret. */
  readonly unavailableReason?: string | undefined;
  /** How often this process began to count by itself, because Redis became unavailable. */
  readonly fallbacks: number;
  /** For how long, in sum, a Redis was unavailable, so that this process counted. */
  readonly degradedSeconds: number;
}

/** The limiter, and how it counts. */
export interface Limits {
  readonly limiter: RateLimiter;
  /** Resolves when Redis was reached or is known to be unavailable. */
  readonly started: Promise<void>;
  readState(): LimitsState;
  /** The number of banned keys, the same in all servers on one Redis. While it is unavailable, the last one known. */
  countBannedKeys(): Promise<number>;
}

export interface LimitsOptions {
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The clock for counting if there is no Redis; with Redis, its clock is used. */
  readonly clock: Clock;
  /** Called for each ban of a key, on only one of all servers. */
  readonly onBan: (keyId: ApiKeyId) => void;
}

const ADVICE = 'Set maxmemory-policy volatile-ttl.';
/** The effect of an unsuitable eviction policy on a Redis with limited memory, once that memory is full. */
const FORGETS = `When Redis is full, it will evict exhausted limits and bans. ${ADVICE}`;
const EVICTION_RISKS: Readonly<Record<string, string>> = {
  noeviction: `When Redis is full, all limits are counted in this process. ${ADVICE}`,
};

/** Opens the limiter. Without a Redis in the settings this process counts by itself. */
export function openLimiter(
  { redis: target, redisPrefix, instances }: Pick<Settings, 'redis' | 'redisPrefix' | 'instances'>,
  { logger, metrics, clock, onBan }: LimitsOptions,
  resources: AsyncDisposableStack,
): Limits {
  const observer: LimiterObserver = {
    onDecision: (decided) => metrics.checks.inc({ decided }),
    onRedisCall: (durationMs) => metrics.redisCalls.observe(durationMs / 1_000),
    onBan({ subject, level }) {
      metrics.bansSet.inc({ level });
      onBan(apiKeyIdOf(subject)); // addresses are never banned
    },
  };
  if (target === undefined) {
    const limiter = new InProcessLimiter({ nowMs: () => clock().getTime(), observer });
    const readState = (): LimitsState => ({ mode: 'in-process', fallbacks: 0, degradedSeconds: 0 });
    return { limiter, started: Promise.resolve(), readState, countBannedKeys: async () => limiter.countBans() };
  }
  let fallbacks = 0;
  let unavailableSinceMs: number | undefined;
  let previouslyUnavailableMs = 0;
  const unavailableMs = () => (unavailableSinceMs === undefined ? 0 : performance.now() - unavailableSinceMs);
  const onStateChange = ({ countedIn, reason }: LimiterStateChange) => {
    if (countedIn === 'process') {
      fallbacks++;
      unavailableSinceMs = performance.now();
      logger.warn({ reason }, 'Redis is unavailable: limits are counted in this process');
    } else {
      previouslyUnavailableMs += unavailableMs();
      unavailableSinceMs = undefined;
      logger.info('Redis is available again: limits are counted there');
    }
  };
  const redis = connectRedis(target, { keyPrefix: redisPrefix });
  resources.defer(() => redis.disconnect());
  watchEviction(redis, (node) => logger.warn(node, EVICTION_RISKS[node.policy] ?? FORGETS));
  const limiter = new ResilientLimiter({ redis, instances, onStateChange, observer });
  resources.defer(() => limiter.close());
  const readState = (): LimitsState => ({
    mode: limiter.isDegraded ? 'degraded' : 'redis',
    unavailableReason: limiter.unavailableReason,
    fallbacks,
    degradedSeconds: (previouslyUnavailableMs + unavailableMs()) / 1_000,
  });
  let bannedKeys = 0;
  const countBannedKeys = async () => {
    bannedKeys = await countBans(redis).catch(() => bannedKeys);
    return bannedKeys;
  };
  return { limiter, started: limiter.started, readState, countBannedKeys };
}
