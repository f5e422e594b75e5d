import {
  type ApiKeyId,
  type ApiKeySecret,
  type ApiKeyStore,
  type Clock,
  hashApiKeyText,
  isApiKeyText,
  StorageUnavailableError,
  validUntilMs,
} from '@petstore/domain';
import { LRUCache } from 'lru-cache';
import { ApiError } from '../api-error.ts';
import type { Authentication, Authenticator, KeyLookUp } from './authenticator.ts';

/** How long a key is cached: an unpublished revocation takes effect within this time. */
const KNOWN_KEY_FRESH_MS = 5_000;
/** How much longer it holds while the key store cannot be reached. */
const STORE_AWAY_GRACE_MS = 60_000;
/** How long a key stays unknown: short, so that a new key which was tried too early is soon accepted. */
const UNKNOWN_KEY_FRESH_MS = 1_000;
/** How often the store is asked again for each known key while it is away. */
const STORE_AWAY_RETRY_MS = 1_000;
/** `lastUsedAt` is written at most this often. */
const MARK_USED_EVERY_MS = 60_000;
/** Well over any number of keys at work in one process; each takes less than a kilobyte. */
const KNOWN_KEYS_MAX = 20_000;
const UNKNOWN_KEYS_MAX = 5_000;
/** Unknown keys looked up concurrently, at most; recently known ones are not counted. */
const UNKNOWN_LOOK_UPS_MAX = 512;

export interface AuthenticatorOptions {
  readonly apiKeys: ApiKeyStore;
  readonly clock: Clock;
  /**
   * Called with errors that no request reports, other than StorageUnavailableError.
   */
  readonly onBackgroundError: (error: unknown) => void;
}

/** Looks a key up by its hash, once for any number of requests at a time, and then knows it for 5 seconds. */
export const createAuthenticator = (options: AuthenticatorOptions): Authenticator => new CachingAuthenticator(options);

const MISSING: Authentication = { type: 'missing' };
const INVALID: Authentication = { type: 'invalid' };

/** RFC 6750 section 2.1, in upper or lower case and with any number of blanks. What follows need not be a key. */
const BEARER = /^bearer[ \t]+(\S.*)$/i;

/** With sizes a cache grows as it fills; the length that `max` gives is allocated at once. */
const one = (): number => 1;

/** The outcome for a valid key. */
type Authenticated = Extract<Authentication, { type: 'authenticated' }>;

/** What is known of a key, and the outcome while it is valid. */
interface KnownKey {
  readonly secret: ApiKeySecret;
  readonly authenticated: Authenticated;
  readonly validUntilMs: number;
  readonly freshUntilMs: number;
  /** While the store is away: when to ask it again. */
  retryAtMs: number;
  /** When the next use is worth noting. */
  markAtMs: number;
}

class CachingAuthenticator implements Authenticator {
  readonly #options: AuthenticatorOptions;
  // All three by `Bearer <key>`, as nearly every client sends it: the usual request needs no parsing.
  readonly #known = new LRUCache<string, KnownKey>({ maxSize: KNOWN_KEYS_MAX, sizeCalculation: one });
  readonly #unknownUntilMs = new LRUCache<string, number>({ maxSize: UNKNOWN_KEYS_MAX, sizeCalculation: one });
  readonly #lookUps = new Map<string, Promise<KnownKey | undefined>>();
  #unknownLookUps = 0;
  #storeIsAway = false;
  #timesForgotten = 0;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  identify(authorization: string | undefined): Authentication | KeyLookUp {
    if (authorization === undefined) return MISSING;
    const now = this.#options.clock();
    const usual = this.#known.get(authorization);
    if (usual !== undefined && now.getTime() < usual.freshUntilMs) return this.#judge(usual, now);

    const text = BEARER.exec(authorization)?.[1];
    if (text === undefined) return MISSING;
    if (!isApiKeyText(text)) return INVALID;
    return this.#identifyKey(text, now);
  }

  async identifyAnew(authorization = ''): Promise<Authentication> {
    const text = BEARER.exec(authorization)?.[1];
    if (text === undefined) return MISSING;
    return isApiKeyText(text) ? this.#authenticateByStore(`Bearer ${text}`, text) : INVALID;
  }

  forget(keyId: ApiKeyId): void {
    this.#timesForgotten++;
    this.#unknownUntilMs.clear();
    for (const [header, { secret }] of this.#known.entries()) {
      if (secret.key.id === keyId) this.#known.delete(header);
    }
  }

  #identifyKey(text: string, now: Date): Authentication | KeyLookUp {
    const header = `Bearer ${text}`;
    const nowMs = now.getTime();
    const entry = this.#known.get(header);
    if (entry === undefined) {
      if (nowMs < (this.#unknownUntilMs.get(header) ?? 0)) return INVALID;
      return { type: 'look-up', lookUp: () => this.#authenticateByStore(header, text) };
    }
    if (nowMs < entry.freshUntilMs) return this.#judge(entry, now);
    // While the store is known to be away, requests do not wait for it.
    if (!this.#storeIsAway || !isWithinGrace(entry, nowMs)) {
      const lookUp = () => this.#authenticateByStore(header, text);
      return { type: 'look-up', knownPrincipal: entry.authenticated.principal, lookUp };
    }
    if (nowMs >= entry.retryAtMs) this.#refreshInBackground(entry, header, text, nowMs);
    return this.#judge(entry, now);
  }

  /** Expiry is judged at each request, whenever the key was looked up. */
  #judge(entry: KnownKey, now: Date): Authentication {
    const nowMs = now.getTime();
    if (nowMs >= entry.validUntilMs) return INVALID;
    if (nowMs >= entry.markAtMs) {
      entry.markAtMs = nowMs + MARK_USED_EVERY_MS;
      this.#options.apiKeys.markKeyUsed(entry.secret.key.id, now).catch(this.#report);
    }
    return entry.authenticated;
  }

  async #authenticateByStore(header: string, text: string): Promise<Authentication> {
    let entry: KnownKey | undefined;
    try {
      entry = await this.#lookUp(header, text);
    } catch (error) {
      entry = this.#known.peek(header);
      const nowMs = this.#options.clock().getTime();
      if (!(error instanceof StorageUnavailableError) || entry === undefined || !isWithinGrace(entry, nowMs))
        throw error;
      entry.retryAtMs = nowMs + STORE_AWAY_RETRY_MS;
    }
    return entry === undefined ? INVALID : this.#judge(entry, this.#options.clock());
  }

  /** Asks again, while requests go on with what is known. */
  #refreshInBackground(entry: KnownKey, header: string, text: string, nowMs: number): void {
    entry.retryAtMs = nowMs + STORE_AWAY_RETRY_MS;
    this.#lookUp(header, text).catch(this.#report);
  }

  readonly #report = (error: unknown): void => {
    if (!(error instanceof StorageUnavailableError)) this.#options.onBackgroundError(error);
  };

  #lookUp(header: string, text: string): Promise<KnownKey | undefined> {
    let pending = this.#lookUps.get(header);
    if (pending === undefined) {
      const isUnknown = !this.#known.has(header);
      if (isUnknown && this.#unknownLookUps >= UNKNOWN_LOOK_UPS_MAX) return Promise.reject(new ApiError('overloaded'));
      if (isUnknown) this.#unknownLookUps++;
      pending = this.#findKey(header, text).finally(() => {
        this.#lookUps.delete(header);
        if (isUnknown) this.#unknownLookUps--;
      });
      this.#lookUps.set(header, pending);
    }
    return pending;
  }

  async #findKey(header: string, text: string): Promise<KnownKey | undefined> {
    const timesBefore = this.#timesForgotten;
    try {
      const secret = await this.#options.apiKeys.findSecret(hashApiKeyText(text));
      this.#storeIsAway = false;
      const now = this.#options.clock();
      // A key read before `forget` serves the requests already waiting, and is not cached.
      const isCurrent = timesBefore === this.#timesForgotten;
      const entry = secret && createKnownKey(secret, now, this.#known.peek(header));
      if (entry === undefined) this.#known.delete(header);
      if (isCurrent && entry !== undefined) this.#known.set(header, entry);
      if (isCurrent && entry === undefined) this.#unknownUntilMs.set(header, now.getTime() + UNKNOWN_KEY_FRESH_MS);
      return entry;
    } catch (error) {
      if (error instanceof StorageUnavailableError) this.#storeIsAway = true;
      throw error;
    }
  }
}

const isWithinGrace = ({ freshUntilMs }: KnownKey, nowMs: number): boolean =>
  nowMs < freshUntilMs + STORE_AWAY_GRACE_MS;

function createKnownKey(secret: ApiKeySecret, now: Date, before: KnownKey | undefined): KnownKey {
  const { id, kind, plan } = secret.key;
  return {
    secret,
    authenticated: { type: 'authenticated', principal: { type: 'api-key', keyId: id, kind, plan } },
    validUntilMs: validUntilMs(secret),
    freshUntilMs: now.getTime() + KNOWN_KEY_FRESH_MS,
    retryAtMs: 0,
    markAtMs: Math.max(before?.markAtMs ?? 0, (secret.key.lastUsedAt?.getTime() ?? 0) + MARK_USED_EVERY_MS),
  };
}
