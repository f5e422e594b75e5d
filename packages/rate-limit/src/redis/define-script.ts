import { readFileSync } from 'node:fs';
import type { Cluster, Redis } from 'ioredis';

/** A connection that the script is defined on. */
export type ScriptedRedis = (Redis | Cluster) & {
  /** See check.lua. The keys come first. */
  rateLimitCheckBuffer(keyCount: number, parameters: readonly (string | number)[]): Promise<unknown>;
};

/** The script is sent once per connection, then called by its hash; after SCRIPT FLUSH it is sent again. */
export function defineScript(redis: Redis | Cluster): ScriptedRedis {
  redis.defineCommand('rateLimitCheck', { lua: readFileSync(new URL('./check.lua', import.meta.url), 'utf8') });
  return redis as ScriptedRedis; // defineCommand has just added it, which its types do not show
}
