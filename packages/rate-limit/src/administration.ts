import type { ApiKeyId } from '@petstore/domain';
import type { Cluster, Redis } from 'ioredis';
import { forgetNotedBans, listNotedBans } from './ban-index.ts';
import { readStateReply } from './check-reply.ts';
import { connectRedis, type RedisLocation } from './connect-redis.ts';
import { isBanned } from './penalty.ts';
import type { RateLimitSnapshot } from './rate-limiter.ts';
import { RedisLimiter } from './redis-limiter.ts';
import { defineScripts, type ScriptedRedis } from './redis-scripts.ts';
import { RedisUnavailableError } from './redis-unavailable-error.ts';
import { decodeState, encodeState } from './state-codec.ts';
import { type ApiKeySubject, apiKeyIdOf, apiKeyStorageKey } from './subject.ts';
import { keepForMs, pardonState } from './subject-state.ts';

/** A ban in force. */
export interface Ban {
  readonly keyId: ApiKeyId;
  /** When it ends, in milliseconds since the epoch. */
  readonly untilMs: number;
  /** Counts from 1: bans of 1, 5, 15 and 60 minutes. */
  readonly level: number;
}

const CONNECT_MS = 3_000;
/** People wait longer than requests do. */
const TIMEOUT_MS = 2_000;
const BANS_LISTED_MAX = 10_000;
/** A key in use changes between reading and writing it. */
const LIFT_ATTEMPTS_MAX = 100;

/** What an operator does about limits and bans. Running servers follow within 5 s, which they remember a ban for. */
export class RateLimitAdministration implements AsyncDisposable {
  readonly #redis: ScriptedRedis;
  readonly #limiter: RedisLimiter;

  /** @param redis connected, as {@link connectToAdministrate} does */
  constructor(redis: Redis | Cluster) {
    this.#redis = defineScripts(redis);
    this.#limiter = new RedisLimiter({ redis, timeoutMs: TIMEOUT_MS });
  }

  /** Tells where a key stands. Costs it nothing. */
  showStanding(subject: ApiKeySubject): Promise<RateLimitSnapshot> {
    return this.#limiter.peek(subject);
  }

  /** The keys that are banned, at most 10,000: those whose ban ends last first. */
  async listBans(): Promise<Ban[]> {
    const noted = await listNotedBans(this.#redis, BANS_LISTED_MAX);
    const bans = await Promise.all(noted.map((storageKey) => this.#findBan(storageKey)));
    await forgetNotedBans(
      this.#redis,
      noted.filter((_, i) => bans[i] === undefined),
    );
    return bans.filter((ban) => ban !== undefined);
  }

  /**
   * Lifts the ban of a key. Its strikes and its level are forgotten, too; what it has used is not.
   *
   * @returns whether the key was banned
   */
  async liftBan(keyId: ApiKeyId): Promise<boolean> {
    const storageKey = apiKeyStorageKey(keyId);
    for (let attempt = 0; attempt < LIFT_ATTEMPTS_MAX; attempt++) {
      const { stored, redisNowMs } = readStateReply(await this.#redis.rateLimitReadBuffer(storageKey));
      const state = stored && decodeState(stored);
      if (stored === undefined || state === undefined) return false;
      const pardoned = pardonState(state);
      const keepMs = keepForMs(pardoned, 'api-key');
      if ((await this.#redis.rateLimitReplace(storageKey, stored, encodeState(pardoned), keepMs)) === 1) {
        await forgetNotedBans(this.#redis, [storageKey]);
        return isBanned(state.penalty, redisNowMs);
      }
    }
    throw new Error(`the key ${keyId} changes too fast to lift its ban: try again`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#redis.quit();
  }

  async #findBan(storageKey: string): Promise<Ban | undefined> {
    const { stored, redisNowMs } = readStateReply(await this.#redis.rateLimitReadBuffer(storageKey));
    const penalty = stored && decodeState(stored)?.penalty;
    if (penalty === undefined || !isBanned(penalty, redisNowMs)) return undefined;
    return { keyId: apiKeyIdOf(storageKey), untilMs: penalty.banUntilMs, level: penalty.banLevel };
  }
}

/**
 * Connects for an operator.
 *
 * @throws RedisUnavailableError when there is no connection within 3 s, saying why
 */
export async function connectToAdministrate(location: RedisLocation): Promise<RateLimitAdministration> {
  const redis = connectRedis(location);
  let reason = 'no answer';
  redis.on('error', (error: Error) => {
    reason = error.message;
  });
  const ready = Promise.withResolvers<void>();
  redis.once('ready', ready.resolve);
  const timer = setTimeout(() => {
    ready.reject(new RedisUnavailableError(`There is no connection to Redis: ${reason}.`, false));
  }, CONNECT_MS);
  try {
    await ready.promise;
  } catch (error) {
    redis.disconnect();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return new RateLimitAdministration(redis);
}
