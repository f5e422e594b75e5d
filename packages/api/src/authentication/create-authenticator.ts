import {
  type ApiKeyId,
  type ApiKeyPrincipal,
  type ApiKeySecret,
  type ApiKeyStore,
  type Clock,
  hashApiKeyText,
  isApiKeyText,
  isKnownPlan,
  type Plan,
  StorageUnavailableError,
  validUntilMs,
} from '@petstore/domain';
import { LRUCache } from 'lru-cache';
import { refusalOf } from '../errors/refusals.ts';
import type { Authentication, Authenticator, KeyLookUp } from './authenticator.ts';

/** How long a key is cached. A revocation that was not announced takes effect within this time. */
const KNOWN_KEY_FRESH_MS = 5_000;
/** How much longer a cached key is accepted while the key store cannot be reached. */
const STORE_AWAY_GRACE_MS = 60_000;
/** How long an unknown key is cached. The time is short: a new key that was tried too early is soon accepted. */
const UNKNOWN_KEY_FRESH_MS = 1_000;
/** How often the store is asked again for each known key while the store is unavailable. */
const STORE_AWAY_RETRY_MS = 1_000;
/** `lastUsedAt` is written at most this often. */
const MARK_USED_EVERY_MS = 60_000;
/** Far more keys than are in use in one process; each takes less than a kilobyte. */
const KNOWN_KEYS_MAX = 20_000;
const UNKNOWN_KEYS_MAX = 5_000;
/** The maximum number of concurrent look-ups of unknown keys. Recently known keys do not count. */
const UNKNOWN_LOOK_UPS_MAX = 512;

interface AuthenticatorOptions {
  readonly apiKeys: ApiKeyStore;
  /** The wall clock, for expiry and the last use. */
  readonly clock: Clock;
  /** Milliseconds since any moment, for how long a result is cached. It is never set, unlike the wall clock. */
  readonly monotonicNowMs: () => number;
  /** Called with errors that no request reports, except StorageUnavailableError. */
  readonly onBackgroundError: (error: unknown) => void;
}

/** Looks a key up by its hash and caches the result for 5 seconds. Concurrent requests share one look-up. */
export const createAuthenticator = (options: AuthenticatorOptions): Authenticator => new CachingAuthenticator(options);

/** RFC 6750 section 2.1, in upper or lower case and with any number of blanks. The token need not be a key. */
const BEARER = /^bearer[ \t]+(\S.*)$/i;

/** What is known of a key. */
interface KnownKey {
  readonly secret: ApiKeySecret;
  readonly principal: ApiKeyPrincipal;
  /** By the wall clock. */
  readonly validUntilMs: number;
  /** By the monotonic clock. */
  readonly freshUntilMs: number;
  /** When to ask the store again while it is unavailable, by the monotonic clock. */
  retryAtMs: number;
  /** When to record the next use, by the wall clock. */
  markAtMs: number;
}

/** The keys of all maps are texts of API keys. */
class CachingAuthenticator implements Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #known = new LRUCache<string, KnownKey>({ max: KNOWN_KEYS_MAX });
  /** By the monotonic clock. */
  readonly #unknownUntilMs = new LRUCache<string, number>({ max: UNKNOWN_KEYS_MAX });
  /** Those under way that no `forget` has abandoned: requests join them, and their results are cached. */
  readonly #lookUps = new Map<string, Promise<KnownKey | undefined>>();
  #unknownLookUps = 0;
  #isStoreUnavailable = false;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  identify(authorization = ''): Authentication | KeyLookUp {
    const text = BEARER.exec(authorization)?.[1];
    if (text === undefined) return { type: 'missing' };
    const nowMs = this.#options.monotonicNowMs();
    const known = this.#known.get(text);
    const lookUp = () => this.#authenticateByStore(text);
    if (known === undefined) {
      const isInvalid = !isApiKeyText(text) || nowMs < (this.#unknownUntilMs.get(text) ?? 0);
      return isInvalid ? { type: 'invalid' } : { type: 'look-up', lookUp };
    }
    if (nowMs < known.freshUntilMs) return this.#judge(known);
    // While the store is known to be unavailable, requests do not wait for it.
    if (this.#isStoreUnavailable && isWithinGrace(known, nowMs)) {
      if (nowMs >= known.retryAtMs) this.#refreshInBackground(known, text);
      return this.#judge(known);
    }
    // A key that was not looked up for longer is as good as unknown.
    return { type: 'look-up', lookUp, ...(isWithinGrace(known, nowMs) && { knownPrincipal: known.principal }) };
  }

  forget(keyId: ApiKeyId): void {
    this.#lookUps.clear();
    this.#unknownUntilMs.clear();
    for (const [text, { secret }] of this.#known.entries()) {
      if (secret.key.id === keyId) this.#known.delete(text);
    }
  }

  /** Checks the expiry at each request, because the key may have been looked up earlier. */
  #judge(known: KnownKey): Authentication {
    const now = this.#options.clock();
    if (now.getTime() >= known.validUntilMs) return { type: 'invalid' };
    if (now.getTime() >= known.markAtMs) {
      known.markAtMs = now.getTime() + MARK_USED_EVERY_MS;
      this.#options.apiKeys.markKeyUsed(known.secret.key.id, now).catch(this.#report);
    }
    return { type: 'authenticated', principal: known.principal };
  }

  async #authenticateByStore(text: string): Promise<Authentication> {
    try {
      const known = await this.#lookUp(text);
      return known === undefined ? { type: 'invalid' } : this.#judge(known);
    } catch (error) {
      const known = this.#known.peek(text);
      const nowMs = this.#options.monotonicNowMs();
      if (!(error instanceof StorageUnavailableError) || known === undefined || !isWithinGrace(known, nowMs))
        throw error;
      known.retryAtMs = nowMs + STORE_AWAY_RETRY_MS;
      return this.#judge(known);
    }
  }

  /** Looks the key up again while requests use the cached result. */
  #refreshInBackground(known: KnownKey, text: string): void {
    known.retryAtMs = this.#options.monotonicNowMs() + STORE_AWAY_RETRY_MS;
    this.#lookUp(text).catch(this.#report);
  }

  readonly #report = (error: unknown): void => {
    if (!(error instanceof StorageUnavailableError)) this.#options.onBackgroundError(error);
  };

  #lookUp(text: string): Promise<KnownKey | undefined> {
    const underWay = this.#lookUps.get(text);
    if (underWay !== undefined) return underWay;
    const isUnknown = !this.#known.has(text);
    if (isUnknown && this.#unknownLookUps >= UNKNOWN_LOOK_UPS_MAX) return Promise.reject(refusalOf('overloaded'));
    if (isUnknown) this.#unknownLookUps++;
    const isCurrent = () => this.#lookUps.get(text) === lookUp;
    const lookUp: Promise<KnownKey | undefined> = this.#findKey(text, isCurrent).finally(() => {
      if (isCurrent()) this.#lookUps.delete(text);
      if (isUnknown) this.#unknownLookUps--;
    });
    this.#lookUps.set(text, lookUp);
    return lookUp;
  }

  /** @param isCached whether the result is cached, asked when it has come; otherwise it only serves who waits for it */
  async #findKey(text: string, isCached: () => boolean): Promise<KnownKey | undefined> {
    const askedAtMs = this.#options.monotonicNowMs(); // what changes from now on may be missing in the result
    const secret = await this.#findSecret(text);
    if (secret === undefined) {
      this.#known.delete(text);
      if (isCached()) this.#unknownUntilMs.set(text, askedAtMs + UNKNOWN_KEY_FRESH_MS);
      return undefined;
    }
    const { plan } = secret.key;
    if (!isKnownPlan(plan)) {
      this.#known.delete(text);
      throw new StorageUnavailableError(`only a newer release knows the plan ${plan.name}`);
    }
    const known = createKnownKey(secret, plan, askedAtMs, this.#known.peek(text));
    if (isCached()) this.#known.set(text, known);
    return known;
  }

  async #findSecret(text: string): Promise<ApiKeySecret | undefined> {
    try {
      const secret = await this.#options.apiKeys.findSecret(hashApiKeyText(text));
      this.#isStoreUnavailable = false;
      return secret;
    } catch (error) {
      if (error instanceof StorageUnavailableError) this.#isStoreUnavailable = true;
      throw error;
    }
  }
}

const isWithinGrace = ({ freshUntilMs }: KnownKey, nowMs: number): boolean =>
  nowMs < freshUntilMs + STORE_AWAY_GRACE_MS;

function createKnownKey(secret: ApiKeySecret, plan: Plan, askedAtMs: number, before: KnownKey | undefined): KnownKey {
  const { id, kind, readOnly, name, createdAt, lastUsedAt } = secret.key;
  const endMs = validUntilMs(secret);
  return {
    secret,
    principal: {
      type: 'api-key',
      keyId: id,
      kind,
      readOnly,
      plan,
      name,
      createdAt,
      ...(Number.isFinite(endMs) && { expiresAt: new Date(endMs) }),
    },
    validUntilMs: endMs,
    freshUntilMs: askedAtMs + KNOWN_KEY_FRESH_MS,
    retryAtMs: 0,
    markAtMs: Math.max(before?.markAtMs ?? 0, (lastUsedAt?.getTime() ?? 0) + MARK_USED_EVERY_MS),
  };
}
