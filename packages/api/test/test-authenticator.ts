import { randomBytes } from 'node:crypto';
import {
  type ApiKeyId,
  type ApiKeyKind,
  type ApiKeyStore,
  generateApiKeyId,
  generateApiKeyText,
  hashApiKeyText,
} from '@petstore/domain';
import { openPersistence, type Persistence } from '@petstore/persistence';
import { createTestDatabase, type ManualClock, manualClock } from '@petstore/testing';
import { type Authentication, type Authenticator, createAuthenticator } from '../src/index.ts';
import { MIGRATED } from './test-api.ts';

/** An authenticator on a real key store, and the calls that it makes of it. */
export interface TestAuthenticator extends AsyncDisposable {
  readonly persistence: Persistence;
  readonly authenticator: AskingAuthenticator;
  readonly clock: ManualClock;
  readonly lookUps: Promise<unknown>[];
  readonly marks: Promise<void>[];
  readonly backgroundErrors: unknown[];
  createKey(options?: { kind?: ApiKeyKind; expiresAt?: Date }): Promise<{ id: ApiKeyId; text: string }>;
}

/** Asks the key store wherever an authenticator would have to: none is refused before. */
interface AskingAuthenticator {
  authenticate(authorization: string | undefined): Authentication | Promise<Authentication>;
  forget: Authenticator['forget'];
}

const askingAlways = (authenticator: Authenticator): AskingAuthenticator => ({
  authenticate(authorization) {
    const identity = authenticator.identify(authorization);
    return identity.type === 'look-up' ? identity.lookUp() : identity;
  },
  forget: (id) => authenticator.forget(id),
});

export async function openTestAuthenticator(databaseUrl?: string): Promise<TestAuthenticator> {
  const database = databaseUrl === undefined ? await createTestDatabase({ template: MIGRATED }) : undefined;
  const persistence = openPersistence({ databaseUrl: databaseUrl ?? database?.url ?? '' });
  const clock = manualClock('2026-11-20T12:00:00.000Z');
  const lookUps: Promise<unknown>[] = [];
  const marks: Promise<void>[] = [];
  const backgroundErrors: unknown[] = [];
  const watch = <Value>(calls: Promise<unknown>[], call: Promise<Value>): Promise<Value> => {
    calls.push(call.catch(() => {}));
    return call;
  };
  const apiKeys: ApiKeyStore = {
    findSecret: (hash) => watch(lookUps, persistence.apiKeys.findSecret(hash)),
    markKeyUsed: (id, at) => watch(marks, persistence.apiKeys.markKeyUsed(id, at)),
  };
  return {
    persistence,
    authenticator: askingAlways(
      createAuthenticator({ apiKeys, clock, onBackgroundError: (error) => backgroundErrors.push(error) }),
    ),
    clock,
    lookUps,
    marks,
    backgroundErrors,
    async createKey({ kind = 'external', expiresAt } = {}) {
      const id = generateApiKeyId(randomBytes);
      const text = generateApiKeyText('live', id, randomBytes);
      await persistence.keyAdministration.createKey(
        { id, name: 'test', kind, plan: { name: 'free' }, createdAt: clock(), ...(expiresAt && { expiresAt }) },
        hashApiKeyText(text),
      );
      return { id, text };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...lookUps, ...marks]);
      await persistence.close();
      await database?.[Symbol.asyncDispose]();
    },
  };
}

/** A well-formed key that does not exist. */
export const unknownKeyText = () => generateApiKeyText('live', generateApiKeyId(randomBytes), randomBytes);
