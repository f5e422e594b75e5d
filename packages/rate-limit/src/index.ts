/** The client of every connection, for what instruments it. */
export { Redis } from 'ioredis';
export { connectToAdministrate, RateLimitAdministration } from './administration.ts';
export { createResilientLimiter } from './fallback/cluster-limiter.ts';
export { InProcessLimiter, type InProcessLimiterOptions } from './fallback/in-process-limiter.ts';
export type { ResilientLimiterOptions } from './fallback/resilient-limiter.ts';
export * from './headers.ts';
export * from './port.ts';
export { BanWatch, type BanWatchOptions } from './redis/ban-watch.ts';
export { connectRedis, type RedisConnectionOptions, type RedisLocation } from './redis/connect-redis.ts';
export { type UnfitEviction, watchEviction } from './redis/eviction.ts';
export { RedisUnavailableError } from './redis/redis-unavailable-error.ts';
export {
  type ApiKeySubject,
  apiKeySubject,
  type ClientAddressSubject,
  canEverFit,
  clientAddressSubject,
  type RateLimitSubject,
} from './subject.ts';
