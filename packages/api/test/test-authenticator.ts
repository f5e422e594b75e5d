import { randomBytes } from 'node:crypto';
import {
  type ApiKey,
  type ApiKeyId,
  type ApiKeySecret,
  type ApiKeyStore,
  generateApiKeyId,
  generateApiKeyText,
  hashApiKeyText,
  StorageUnavailableError,
} from '@petstore/domain';
import { manualClock } from '@petstore/testing';
import { type Authentication, type Authenticator, createAuthenticator } from '../src/index.ts';

/** Asks the key store wherever an authenticator would have to: none is refused before. */
const askingAlways = (authenticator: Authenticator) => ({
  authenticate(authorization: string | undefined): Authentication | Promise<Authentication> {
    const identity = authenticator.identify(authorization);
    return identity.type === 'look-up' ? identity.lookUp() : identity;
  },
  forget: (id: ApiKeyId) => authenticator.forget(id),
});

/** An authenticator on a key store in memory, and the calls that it makes of it. */
export function openTestAuthenticator() {
  const clock = manualClock('2026-11-20T12:00:00.000Z');
  let monotonicMs = 0;
  const monotonicNowMs = () => monotonicMs;
  const keys = new Map<ApiKeyId, ApiKey>();
  /** By the key's text. */
  const secrets = new Map<string, { readonly id: ApiKeyId; readonly expiresAt?: Date }>();
  const lookUps: Promise<unknown>[] = [];
  const marks: Promise<void>[] = [];
  const backgroundErrors: unknown[] = [];
  const store = { isAway: false };

  async function findSecret(secretHash: Uint8Array): Promise<ApiKeySecret | undefined> {
    if (store.isAway) throw new StorageUnavailableError('connection refused');
    for (const [text, { id, expiresAt }] of secrets) {
      const key = keys.get(id);
      if (key === undefined || !Buffer.from(secretHash).equals(hashApiKeyText(text))) continue;
      return { key, ...(expiresAt && { secretExpiresAt: expiresAt }) };
    }
    return undefined;
  }
  const changeKey = (id: ApiKeyId, change: Partial<ApiKey>): void => {
    const key = keys.get(id);
    if (key === undefined) throw new Error(`There is no key ${id}.`);
    keys.set(id, { ...key, ...change });
  };
  const apiKeys: ApiKeyStore = {
    findSecret(hash) {
      const call = findSecret(hash);
      lookUps.push(call.catch(() => {}));
      return call;
    },
    async markKeyUsed(id, lastUsedAt) {
      const call = Promise.resolve(changeKey(id, { lastUsedAt }));
      marks.push(call);
      return call;
    },
  };
  const onBackgroundError = (error: unknown) => void backgroundErrors.push(error);
  return {
    ...askingAlways(createAuthenticator({ apiKeys, clock, monotonicNowMs, onBackgroundError })),
    apiKeys,
    store,
    /** The wall clock. Advancing it sets it, while no time passes. */
    clock,
    monotonicNowMs,
    letPass(milliseconds: number): void {
      monotonicMs += milliseconds;
      clock.advance(milliseconds);
    },
    lookUps,
    marks,
    backgroundErrors,
    changeKey,
    lastUseOf: (id: ApiKeyId) => keys.get(id)?.lastUsedAt,
    createKey(options: Partial<ApiKey> = {}, text = newKeyText()): { id: ApiKeyId; text: string } {
      const id = idOf(text);
      keys.set(id, {
        id,
        name: 'test',
        kind: 'external',
        readOnly: false,
        plan: { name: 'free' },
        createdAt: clock(),
        ...options,
      });
      secrets.set(text, { id });
      return { id, text };
    },
    /** @returns the new text; the old one is good until then */
    rotateKey(id: ApiKeyId, oldText: string, overlapEndsAt: Date): string {
      const text = generateApiKeyText('live', id, randomBytes);
      secrets.set(oldText, { id, expiresAt: overlapEndsAt });
      secrets.set(text, { id });
      return text;
    },
  };
}

/** A well-formed key, of which no store knows yet. */
export const newKeyText = () => generateApiKeyText('live', generateApiKeyId(randomBytes), randomBytes);

export const idOf = (keyText: string) => keyText.slice(9, 17) as ApiKeyId; // where its text holds it
