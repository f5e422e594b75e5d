import type { Cluster, Redis } from 'ioredis';

/** A sorted set of keys that were seen banned, by the end of the ban. Only a hint where to look. */
const BAN_INDEX_KEY = 'rl:bans';
/** Longer than the longest ban. */
const BAN_INDEX_TTL_MS = 7_200_000;

/** Notes that a key is banned, for whoever lists bans. */
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

export const forgetNotedBans = async (redis: Redis | Cluster, storageKeys: readonly string[]): Promise<void> => {
  if (storageKeys.length > 0) await redis.zrem(BAN_INDEX_KEY, ...storageKeys);
};
