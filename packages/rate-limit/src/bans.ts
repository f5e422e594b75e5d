import type { Cluster, Redis } from 'ioredis';
import type { BannedDecision } from './rate-limiter.ts';

/** A sorted set of banned subjects by the end of their bans. It is only an index: the states decide. */
const BANS_KEY = 'limits:bans';
/** Longer than the longest ban. */
const BANS_TTL_MS = 7_200_000;
const BANS_MAX = 10_000;

/** Records a ban for lists and counts. */
export const noteBan = (redis: Redis | Cluster, subject: string, { bannedUntilMs }: BannedDecision) =>
  redis
    .pipeline()
    .zadd(BANS_KEY, bannedUntilMs, subject)
    .zremrangebyrank(BANS_KEY, 0, -BANS_MAX - 1)
    .pexpire(BANS_KEY, BANS_TTL_MS)
    .exec();

/** The names of subjects that may be banned, at most 10,000: those whose bans end last come first. */
export const listNotedBans = (redis: Redis | Cluster): Promise<string[]> => redis.zrevrange(BANS_KEY, 0, -1);

export const forgetBan = (redis: Redis | Cluster, subject: string): Promise<number> => redis.zrem(BANS_KEY, subject);

/** The number of banned subjects, at most 10,000. Rejects if Redis does not respond. */
export async function countBans(redis: Redis | Cluster): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  const nowMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  return redis.zcount(BANS_KEY, `(${nowMs}`, '+inf'); // a ban is over at its end
}
