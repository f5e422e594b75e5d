import type { ApiKeyId } from '@petstore/domain';
import type { Cluster, Redis } from 'ioredis';
import type { KeyBan } from '../port.ts';

/** A sorted set of the keys that were banned, by the end of the ban. A hint only: the states decide. */
const BAN_INDEX_KEY = 'rl:bans';
/** Longer than the longest ban. */
const BAN_INDEX_TTL_MS = 7_200_000;
/** Bans that were lifted, and that no server has logged yet. */
const LIFTS_KEY = 'rl:lifts';
const LIFTS_MAX = 1_000;
/** For as long as no server runs. */
const LIFTS_TTL_MS = 3_600_000;

/** Notes that a key is banned, so that it can be listed. */
export async function noteBan(redis: Redis | Cluster, storageKey: string, ban: { untilMs: number; nowMs: number }) {
  await redis
    .pipeline()
    .zadd(BAN_INDEX_KEY, ban.untilMs, storageKey)
    .zremrangebyscore(BAN_INDEX_KEY, '-inf', ban.nowMs)
    .pexpire(BAN_INDEX_KEY, BAN_INDEX_TTL_MS)
    .exec();
}

/** The storage keys that may be banned, those whose ban ends last first. */
export const listNotedBans = (redis: Redis | Cluster, countMax: number): Promise<string[]> =>
  redis.zrevrange(BAN_INDEX_KEY, 0, countMax - 1);

export const forgetBans = async (redis: Redis | Cluster, storageKeys: readonly string[]): Promise<void> => {
  if (storageKeys.length > 0) await redis.zrem(BAN_INDEX_KEY, ...storageKeys);
};

/** The number of keys that are banned, by the clock of Redis. */
export async function countNotedBans(redis: Redis | Cluster): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  // A ban has ended at its end.
  return redis.zcount(BAN_INDEX_KEY, `(${Number(seconds) * 1_000 + Number(microseconds) / 1_000}`, '+inf');
}

/**
 * Leaves a note that a ban was lifted, which one of the running servers takes.
 *
 * @returns whether Redis has taken it
 */
export async function noteLift(redis: Redis | Cluster, { keyId, level, untilMs }: KeyBan): Promise<boolean> {
  const results = await redis
    .pipeline()
    .rpush(LIFTS_KEY, `${keyId} ${level} ${untilMs}`)
    .ltrim(LIFTS_KEY, -LIFTS_MAX, -1)
    .pexpire(LIFTS_KEY, LIFTS_TTL_MS)
    .exec();
  return results !== null && results.every(([error]) => error === null);
}

/** Removes the oldest note of {@link noteLift}, and returns it. */
export async function takeLift(redis: Redis | Cluster): Promise<KeyBan | undefined> {
  const note = await redis.lpop(LIFTS_KEY);
  if (note === null) return undefined;
  const [keyId = '', level, untilMs] = note.split(' ');
  return { keyId: keyId as ApiKeyId, level: Number(level), untilMs: Number(untilMs) }; // as noteLift wrote it
}
