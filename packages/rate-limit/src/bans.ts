import type { Cluster, Redis } from 'ioredis';
import type { SubjectBan } from './rate-limiter.ts';

/** A sorted set of banned subjects by the end of their bans. It is only an index: the states decide. */
const BANS_KEY = 'limits:bans';
/** Longer than the longest ban. */
const BANS_TTL_MS = 7_200_000;
const BANS_MAX = 10_000;
/** Lifted bans that no server has logged yet. */
const LIFTS_KEY = 'limits:lifts';
/** How long a note waits for a server to take it. */
const LIFTS_TTL_MS = 3_600_000;
const LIFTS_MAX = 1_000;

/** Records a ban for lists and counts. */
export const noteBan = (redis: Redis | Cluster, { subject, untilMs }: SubjectBan) =>
  redis
    .pipeline()
    .zadd(BANS_KEY, untilMs, subject)
    .zremrangebyrank(BANS_KEY, 0, -BANS_MAX - 1)
    .pexpire(BANS_KEY, BANS_TTL_MS)
    .exec();

/** The names of subjects that may be banned, at most 10,000: those whose bans end last come first. */
export const listNotedBans = (redis: Redis | Cluster): Promise<string[]> => redis.zrevrange(BANS_KEY, 0, -1);

export const forgetBan = (redis: Redis | Cluster, subject: string): Promise<number> => redis.zrem(BANS_KEY, subject);

/**
 * Leaves a note that a ban was lifted, which one of the running servers takes.
 *
 * @returns whether Redis accepted the note
 */
export async function noteLift(redis: Redis | Cluster, ban: SubjectBan): Promise<boolean> {
  const results = await redis
    .pipeline()
    .rpush(LIFTS_KEY, JSON.stringify(ban))
    .ltrim(LIFTS_KEY, -LIFTS_MAX, -1)
    .pexpire(LIFTS_KEY, LIFTS_TTL_MS)
    .exec();
  return results?.every(([error]) => error === null) ?? false;
}

export interface BanWatchOptions {
  /** The connection; its owner closes it. */
  readonly redis: Redis | Cluster;
  /** Called for each ban that an operator lifted, in one of the processes that watch the same Redis. */
  readonly onLift: (ban: SubjectBan) => void;
  /** The time between two polls, in milliseconds. @default 5,000 */
  readonly intervalMs?: number;
}

/** Polls the number of banned subjects in Redis, and the bans that were lifted. */
export class BanWatch implements Disposable {
  /** The number at the last successful poll. */
  bannedSubjects = 0;
  readonly #options: BanWatchOptions;
  readonly #timer: NodeJS.Timeout;

  constructor(options: BanWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(this.#poll, options.intervalMs ?? 5_000).unref();
    options.redis.on('ready', this.#poll);
    this.#poll();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#options.redis.off('ready', this.#poll);
  }

  readonly #poll = (): void => {
    this.#read().catch(() => {}); // Redis is away, as the limiter reports
  };

  async #read(): Promise<void> {
    const { redis, onLift } = this.#options;
    const [seconds, microseconds] = await redis.time();
    const nowMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    this.bannedSubjects = await redis.zcount(BANS_KEY, `(${nowMs}`, '+inf'); // a ban is over at its end
    for (let note = await redis.lpop(LIFTS_KEY); note !== null; note = await redis.lpop(LIFTS_KEY)) {
      onLift(JSON.parse(note) as SubjectBan); // as noteLift wrote it
    }
  }
}
