import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, type Redis } from 'ioredis';
import { forgetBan, listNotedBans } from './bans.ts';
import { connectRedis, type RedisConnectionOptions, type RedisLocation } from './connect-redis.ts';
import type { Ban, RateLimitSnapshot, SubjectBan } from './rate-limiter.ts';
import { RedisLimiter } from './redis-limiter.ts';
import type { Subject } from './subject.ts';
import { reasonOf } from './unavailable-reason.ts';

const CONNECT_MS = 3_000;
const POLL_MS = 10;
const TIMEOUT_MS = 2_000;

/** Redis cannot be reached, or has failed to carry out a command. */
export class RedisUnavailableError extends Error {
  override readonly name = 'RedisUnavailableError';
}

/** Limits and bans for operators. Running servers follow within 5 s, the time for which they remember a ban. */
export class RateLimitAdministration implements AsyncDisposable {
  readonly #redis: Redis | Cluster;
  readonly #limiter: RedisLimiter;

  /** @param redis a ready connection, as made by {@link connectToAdministrate} */
  constructor(redis: Redis | Cluster) {
    this.#redis = redis;
    this.#limiter = new RedisLimiter({ redis });
  }

  /**
   * Reads the status of a subject, and counts nothing.
   *
   * @throws RedisUnavailableError if Redis does not respond
   */
  async readStatus(subject: Subject): Promise<RateLimitSnapshot> {
    return await this.#attempt(this.#limiter.peek(subject));
  }

  /**
   * Lists the banned subjects, at most 10,000: those whose bans end last come first.
   *
   * @throws RedisUnavailableError if Redis does not respond
   */
  async listBans(): Promise<SubjectBan[]> {
    const noted = await this.#attempt(listNotedBans(this.#redis));
    const snapshots = await Promise.all(noted.map((name) => this.readStatus(withAnyLimits(name))));
    return noted.flatMap((subject, i) => {
      const ban = snapshots[i]?.ban;
      return ban === undefined ? [] : [{ subject, ...ban }];
    });
  }

  /**
   * Lifts the ban of a subject, and drops its refusals and its level. Its used units are kept.
   *
   * @returns the ban that was lifted; `undefined` if the subject was not banned
   * @throws RedisUnavailableError if Redis does not respond
   */
  async liftBan(name: string): Promise<Ban | undefined> {
    const subject = withAnyLimits(name);
    // Sent together, and carried out in this order.
    const [{ ban }] = await Promise.all([this.readStatus(subject), this.#attempt(this.#limiter.lift(subject))]);
    await this.#attempt(forgetBan(this.#redis, name));
    return ban;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#redis.quit();
  }

  async #attempt<Value>(command: Promise<Value>): Promise<Value> {
    try {
      return await command;
    } catch (cause) {
      const error = cause instanceof Error ? cause : undefined;
      throw new RedisUnavailableError(`Redis failed: ${reasonOf(this.#redis, error)}`, { cause });
    }
  }
}

/** A ban does not depend on the limits of its subject. */
const withAnyLimits = (name: string): Subject => ({ name, perMinute: 1, perDay: 1 });

/**
 * Connects for an operator, who waits longer than a request may: 3 s for the connection, and 2 s for a command.
 *
 * @throws RedisUnavailableError, with the reason, if there is no connection in time
 */
export async function connectForOperator(
  location: RedisLocation,
  options: RedisConnectionOptions = {},
): Promise<Redis | Cluster> {
  const redis = connectRedis(location, { timeoutMs: TIMEOUT_MS, ...options });
  const endMs = performance.now() + CONNECT_MS;
  while (performance.now() < endMs) {
    if (isReady(redis)) return redis;
    await sleep(POLL_MS);
  }
  redis.disconnect();
  throw new RedisUnavailableError(`There is no connection to Redis: ${reasonOf(redis, undefined)}.`);
}

/** Connects as {@link connectForOperator} does. @throws RedisUnavailableError */
export const connectToAdministrate = async (
  location: RedisLocation,
  options?: RedisConnectionOptions,
): Promise<RateLimitAdministration> => new RateLimitAdministration(await connectForOperator(location, options));

/** A cluster is `ready` when it knows its masters; commands to a node that is still connecting would fail. */
const isReady = (redis: Redis | Cluster): boolean =>
  redis.status === 'ready' &&
  (!(redis instanceof Cluster) || redis.nodes('master').every(({ status }) => status === 'ready'));
