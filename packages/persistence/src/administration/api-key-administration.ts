import type { ApiKey, ApiKeyId, Decision, Plan } from '@petstore/domain';
import type { OrmApiKeyAdministration } from './orm-api-key-administration.ts';

/** What a key begins with. */
export type NewApiKey = Omit<ApiKey, 'revokedAt' | 'lastUsedAt'>;

/** Why a key stays as it is. */
export type ApiKeyRefusal = 'key_not_found' | 'key_revoked' | 'key_expired';

export interface KeyRotation {
  /** SHA-256 of the new key's text. */
  readonly secretHash: Uint8Array;
  readonly now: Date;
  /** Until when the secrets from before stay valid; those that end earlier still do. */
  readonly overlapEndsAt: Date;
}

/** What operators do with keys. The text of a key never comes here, only its hash. */
export interface ApiKeyAdministration {
  createKey(key: NewApiKey, secretHash: Uint8Array): Promise<ApiKey>;
  /** Newest first. */
  listKeys(): Promise<readonly ApiKey[]>;
  findKey(id: ApiKeyId): Promise<ApiKey | undefined>;
  /** Adds a secret to a key. Limits, strikes and bans belong to the id, which stays. */
  rotateKey(id: ApiKeyId, rotation: KeyRotation): Promise<Decision<ApiKey, ApiKeyRefusal>>;
  /** For good. Revoking once more changes nothing. */
  revokeKey(id: ApiKeyId, now: Date): Promise<ApiKey | undefined>;
  setPlan(id: ApiKeyId, plan: Plan): Promise<ApiKey | undefined>;
}

/** The statement timeout of the administration, in milliseconds. */
const STATEMENT_TIMEOUT_MS = 10_000;

/** Administration through the ORM, which is loaded with the first call. */
export function openApiKeyAdministration(databaseUrl: string): ApiKeyAdministration & { close(): Promise<void> } {
  let loading: Promise<OrmApiKeyAdministration> | undefined;
  const load = () => {
    loading ??= import('./orm-api-key-administration.ts').then(
      ({ OrmApiKeyAdministration }) => new OrmApiKeyAdministration(databaseUrl, STATEMENT_TIMEOUT_MS),
    );
    return loading;
  };
  return {
    createKey: async (...args) => (await load()).createKey(...args),
    listKeys: async () => (await load()).listKeys(),
    findKey: async (...args) => (await load()).findKey(...args),
    rotateKey: async (...args) => (await load()).rotateKey(...args),
    revokeKey: async (...args) => (await load()).revokeKey(...args),
    setPlan: async (...args) => (await load()).setPlan(...args),
    close: async () => (await loading)?.close(),
  };
}
