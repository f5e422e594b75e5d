import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiKeyId } from '@petstore/domain';
import { Cluster, type Redis } from 'ioredis';
import type { Ban, KeyBan, RateLimitSnapshot } from './port.ts';
import { forgetBans, listNotedBans, noteLift } from './redis/ban-index.ts';
import { connectRedis, type RedisConnectionOptions, type RedisLocation } from './redis/connect-redis.ts';
import { connectionTroubleOf, WHOLE } from './redis/connection-trouble.ts';
import { RedisLimiter } from './redis/redis-limiter.ts';
import { RedisUnavailableError } from './redis/redis-unavailable-error.ts';
import { type ApiKeySubject, apiKeyIdOf, apiKeyStorageKey, apiKeySubject } from './subject.ts';

const CONNECT_MS = 3_000;
const POLL_MS = 10;
/** Longer than for a request: a person waits. */
const TIMEOUT_MS = 2_000;
const BANS_LISTED_MAX = 10_000;
/** A ban does not depend on the limits of its key. */
const ANY_LIMITS = { perMinute: 1, perDay: 1 };

/** A ban that was in force. */
export interface LiftedBan extends Ban {
  /** Whether a running server will log it. */
  readonly isNoted: boolean;
}

/** Limits and bans for operators. Running servers follow within 5 s, for which they remember a ban. */
export class RateLimitAdministration implements AsyncDisposable {
  readonly #redis: Redis | Cluster;
  readonly #limiter: RedisLimiter;

  /** @param redis connected, as {@link connectToAdministrate} does */
  constructor(redis: Redis | Cluster) {
    this.#redis = redis;
    this.#limiter = new RedisLimiter({ redis, timeoutMs: TIMEOUT_MS });
  }

  /** Reads the status of a key. Costs it nothing. */
  readStatus(subject: ApiKeySubject): Promise<RateLimitSnapshot> {
    return this.#limiter.peek(subject);
  }

  /** The keys that are banned, at most 10,000: those whose ban ends last first. */
  async listBans(): Promise<KeyBan[]> {
    const noted = (await listNotedBans(this.#redis, BANS_LISTED_MAX)).map(apiKeyIdOf);
    const snapshots = await Promise.all(noted.map((keyId) => this.readStatus(apiKeySubject(keyId, ANY_LIMITS))));
    const bans: KeyBan[] = [];
    const ended: string[] = [];
    for (const [i, keyId] of noted.entries()) {
      const ban = snapshots[i]?.ban;
      if (ban === undefined) ended.push(apiKeyStorageKey(keyId));
      else bans.push({ keyId, ...ban });
    }
    await forgetBans(this.#redis, ended);
    return bans;
  }

  /**
   * Lifts the ban of a key. Its refusals and its level are dropped, too; what it has used is not.
   *
   * A running server logs it, if Redis has taken a note of it.
   *
   * @returns the ban that was lifted; `undefined` where the key was not banned
   * @throws RedisUnavailableError where Redis does not respond
   */
  async liftBan(keyId: ApiKeyId): Promise<LiftedBan | undefined> {
    const subject = apiKeySubject(keyId, ANY_LIMITS);
    // Sent together, and decided in this order.
    const [{ ban }] = await Promise.all([this.#limiter.peek(subject), this.#limiter.pardon(subject)]);
    const isNoted = ban !== undefined && (await noteLift(this.#redis, { keyId, ...ban }));
    await forgetBans(this.#redis, [apiKeyStorageKey(keyId)]);
    return ban && { ...ban, isNoted };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#redis.quit();
  }
}

/**
 * Connects for an operator.
 *
 * @throws RedisUnavailableError when there is no connection within 3 s, saying why
 */
export async function connectToAdministrate(
  location: RedisLocation,
  options: RedisConnectionOptions = {},
): Promise<RateLimitAdministration> {
  const redis = connectRedis(location, options);
  const endMs = performance.now() + CONNECT_MS;
  while (performance.now() < endMs) {
    if (isReady(redis)) return new RateLimitAdministration(redis);
    await sleep(POLL_MS);
  }
  redis.disconnect();
  const reason = connectionTroubleOf(redis)?.reasonOf(WHOLE) ?? 'no response';
  throw new RedisUnavailableError(`There is no connection to Redis: ${reason}.`, { mayHaveRun: false });
}

/** A cluster says that it is ready as soon as it knows its masters; what is sent to one that is being connected to fails. */
const isReady = (redis: Redis | Cluster): boolean =>
  redis.status === 'ready' &&
  (!(redis instanceof Cluster) || redis.nodes('master').every(({ status }) => status === 'ready'));
