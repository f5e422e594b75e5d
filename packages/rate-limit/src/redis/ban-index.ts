import type { Cluster, Redis } from 'ioredis';

/** A sorted set of the keys that were banned, by the end of the ban. A hint only: the states decide. */
const BAN_INDEX_KEY = 'rl:bans';
/** Longer than the longest ban. */
const BAN_INDEX_TTL_MS = 7_200_000;

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
