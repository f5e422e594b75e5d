import { readFileSync } from 'node:fs';
import type { Cluster, Redis } from 'ioredis';

/** A connection that the scripts are defined on. */
export type ScriptedRedis = (Redis | Cluster) & RateLimitScripts;

/** Each script goes over the wire once per connection, then by its hash; after SCRIPT FLUSH once more. */
interface RateLimitScripts {
  /** See check.lua. Decides on `keyCount` requests; the keys come first. */
  rateLimitCheckBuffer(keyCount: number, parameters: readonly (string | number)[]): Promise<Buffer>;
  /** See read.lua. */
  rateLimitReadBuffer(key: string): Promise<[state: Buffer | null, time: RedisTime]>;
  /** See replace.lua. */
  rateLimitReplace(key: string, expected: Buffer, replacement: Buffer, keepForMs: number): Promise<0 | 1>;
}

/** The answer of Redis to TIME. */
type RedisTime = readonly [seconds: Buffer, microseconds: Buffer];

const readScript = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

/** Defines the scripts on a connection. */
export function defineScripts(redis: Redis | Cluster): ScriptedRedis {
  redis.defineCommand('rateLimitCheck', { lua: readScript('./check.lua') });
  redis.defineCommand('rateLimitRead', { lua: readScript('./read.lua'), numberOfKeys: 1, readOnly: true });
  redis.defineCommand('rateLimitReplace', { lua: readScript('./replace.lua'), numberOfKeys: 1 });
  return redis as ScriptedRedis; // defineCommand has just put them there, which its types do not tell
}
