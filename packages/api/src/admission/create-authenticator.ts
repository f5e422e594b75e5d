import {
  type ApiKeyId,
  type ApiKeySecret,
  type ApiKeyStore,
  type Clock,
  hashApiKeyText,
  isApiKeyText,
  isValidAt,
  StorageUnavailableError,
} from '@petstore/domain';
import { LRUCache } from 'lru-cache';
import type { Authentication, Authenticator } from './authenticator.ts';

/** How long what is known of a key holds: a revocation that nobody told of is seen after this time at the latest. */
const KNOWN_KEY_FRESH_MS = 5_000;
/** How much longer it holds while the key store cannot be reached. */
const STORE_AWAY_GRACE_MS = 60_000;
/** How long a key stays unknown, so that a new one is not refused for long. */
const UNKNOWN_KEY_FRESH_MS = 1_000;
/** How often each known key asks for the store while it is away. */
const STORE_AWAY_RETRY_MS = 1_000;
/** `lastUsedAt` is written at most this often. */
const MARK_USED_EVERY_MS = 60_000;
/** Well over any number of keys at work in one process at once; about 600 bytes each. */
const KNOWN_KEYS_MAX = 20_000;
const UNKNOWN_KEYS_MAX = 5_000;

export interface AuthenticatorOptions {
  readonly apiKeys: ApiKeyStore;
  readonly clock: Clock;
  /** Told of what fails off the path of any request: noting a use, asking again for a key. */
  readonly onBackgroundError: (error: unknown) => void;
}

const MISSING: Authentication = { type: 'missing' };
const INVALID: Authentication = { type: 'invalid' };

/** RFC 6750 section 2.1, with any case and number of blanks. What follows need not be a key. */
const BEARER = /^bearer[ \t]+(\S.*)$/i;

/** What is known of a key, and the answer to give while it holds. */
interface KnownKey {
  readonly secret: ApiKeySecret;
  readonly authenticated: Authentication;
  readonly freshUntilMs: number;
  /** While the store is away: when to ask it again. */
  retryAtMs: number;
  /** When the next use is worth noting. */
  markAtMs: number;
}

/**
 * Tells whom an Authorization header speaks for. A key is looked up by hash, once for any number of requests at the same
 * time, and then known for {@link KNOWN_KEY_FRESH_MS}. Expiry is judged at each request.
 */
export function createAuthenticator({ apiKeys, clock, onBackgroundError }: AuthenticatorOptions): Authenticator {
  // Both by `Bearer <key>`, as nearly every client sends it: the usual request needs no parsing.
  const known = new LRUCache<string, KnownKey>({ max: KNOWN_KEYS_MAX });
  const unknownUntilMs = new LRUCache<string, number>({ max: UNKNOWN_KEYS_MAX });
  const lookUps = new Map<string, Promise<KnownKey | undefined>>();
  let storeIsAway = false;
  let forgottenTimes = 0;

  function answer(entry: KnownKey, now: Date, nowMs: number): Authentication {
    if (!isValidAt(entry.secret, now)) return INVALID;
    if (nowMs >= entry.markAtMs) markUsed(entry, now, nowMs);
    return entry.authenticated;
  }

  function markUsed(entry: KnownKey, now: Date, nowMs: number): void {
    entry.markAtMs = nowMs + MARK_USED_EVERY_MS;
    apiKeys.markKeyUsed(entry.secret.key.id, now).catch(onBackgroundError);
  }

  async function findKey(header: string, text: string): Promise<KnownKey | undefined> {
    const timesBefore = forgottenTimes;
    try {
      const secret = await apiKeys.findSecret(hashApiKeyText(text));
      storeIsAway = false;
      const nowMs = clock().getTime();
      if (secret === undefined) {
        known.delete(header);
        unknownUntilMs.set(header, nowMs + UNKNOWN_KEY_FRESH_MS);
        return undefined;
      }
      const entry = createEntry(secret, nowMs, known.peek(header));
      // What was read before a key was told to be forgotten serves those who waited for it, and nobody after them.
      if (timesBefore === forgottenTimes) known.set(header, entry);
      return entry;
    } catch (error) {
      if (error instanceof StorageUnavailableError) storeIsAway = true;
      throw error;
    } finally {
      lookUps.delete(header);
    }
  }

  function lookUp(header: string, text: string): Promise<KnownKey | undefined> {
    let pending = lookUps.get(header);
    if (pending === undefined) {
      pending = findKey(header, text);
      lookUps.set(header, pending);
    }
    return pending;
  }

  async function authenticateByStore(header: string, text: string): Promise<Authentication> {
    let entry: KnownKey | undefined;
    try {
      entry = await lookUp(header, text);
    } catch (error) {
      entry = known.peek(header);
      const nowMs = clock().getTime();
      if (!storeIsAway || entry === undefined || nowMs >= entry.freshUntilMs + STORE_AWAY_GRACE_MS) throw error;
      entry.retryAtMs = nowMs + STORE_AWAY_RETRY_MS;
    }
    const now = clock();
    return entry === undefined ? INVALID : answer(entry, now, now.getTime());
  }

  /** Asks again while requests go on with what is known. */
  function refreshInBackground(entry: KnownKey, header: string, text: string, nowMs: number): void {
    entry.retryAtMs = nowMs + STORE_AWAY_RETRY_MS;
    lookUp(header, text).catch((error: unknown) => {
      if (!(error instanceof StorageUnavailableError)) onBackgroundError(error);
    });
  }

  return {
    authenticate(authorization) {
      if (authorization === undefined) return MISSING;
      const now = clock();
      const nowMs = now.getTime();
      let entry = known.get(authorization);
      if (entry !== undefined && nowMs < entry.freshUntilMs) return answer(entry, now, nowMs);

      const text = BEARER.exec(authorization)?.[1];
      if (text === undefined) return MISSING;
      if (!isApiKeyText(text)) return INVALID;
      const header = `Bearer ${text}`;
      entry = known.get(header);
      if (entry !== undefined) {
        if (nowMs < entry.freshUntilMs) return answer(entry, now, nowMs);
        if (storeIsAway && nowMs < entry.freshUntilMs + STORE_AWAY_GRACE_MS) {
          if (nowMs >= entry.retryAtMs) refreshInBackground(entry, header, text, nowMs);
          return answer(entry, now, nowMs);
        }
      } else if (nowMs < (unknownUntilMs.get(header) ?? 0)) {
        return INVALID;
      }
      return authenticateByStore(header, text);
    },

    forget(keyId: ApiKeyId) {
      forgottenTimes++;
      unknownUntilMs.clear();
      for (const [header, { secret }] of known.entries()) {
        if (secret.key.id === keyId) known.delete(header);
      }
    },
  };
}

function createEntry(secret: ApiKeySecret, nowMs: number, before: KnownKey | undefined): KnownKey {
  const { key } = secret;
  return {
    secret,
    authenticated: { type: 'authenticated', principal: { type: 'api-key', keyId: key.id, kind: key.kind }, key },
    freshUntilMs: nowMs + KNOWN_KEY_FRESH_MS,
    retryAtMs: 0,
    markAtMs: Math.max(before?.markAtMs ?? 0, (key.lastUsedAt?.getTime() ?? 0) + MARK_USED_EVERY_MS),
  };
}
