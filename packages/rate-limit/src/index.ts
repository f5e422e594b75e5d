export { type Ban, connectToAdministrate, RateLimitAdministration } from './administration.ts';
export { connectRedis, type RedisLocation } from './connect-redis.ts';
export * from './headers.ts';
export { InProcessLimiter, type InProcessLimiterOptions } from './in-process-limiter.ts';
export * from './rate-limiter.ts';
export { RedisLimiter, type RedisLimiterOptions } from './redis-limiter.ts';
export { RedisUnavailableError } from './redis-unavailable-error.ts';
export { ResilientLimiter, type ResilientLimiterOptions } from './resilient-limiter.ts';
export type { LimiterStateChange } from './shard.ts';
export {
  type ApiKeySubject,
  apiKeySubject,
  type ClientAddressSubject,
  clientAddressSubject,
  type RateLimitSubject,
} from './subject.ts';
