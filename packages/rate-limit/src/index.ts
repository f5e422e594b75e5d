/** The class of every connection, for instrumentation. */
export { Redis } from 'ioredis';
export {
  connectForOperator,
  connectToAdministrate,
  RateLimitAdministration,
  RedisUnavailableError,
} from './administration.ts';
export { BAN_DURATIONS_MS } from './algorithm.ts';
export { countBans } from './bans.ts';
export { type Channels, channelsOf } from './channels.ts';
export { connectRedis, type RedisConnectionOptions, type RedisLocation } from './connect-redis.ts';
export { type UnfitEviction, watchEviction } from './eviction.ts';
export { type HeaderSource, RATE_LIMIT_HEADERS, rateLimitHeaders } from './headers.ts';
export { InProcessLimiter, type InProcessLimiterOptions } from './in-process-limiter.ts';
export * from './rate-limiter.ts';
export { type LimiterStateChange, ResilientLimiter, type ResilientLimiterOptions } from './resilient-limiter.ts';
export { canEverFit, type Subject } from './subject.ts';
