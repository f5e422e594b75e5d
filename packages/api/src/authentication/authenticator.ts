import type { ApiKey, ApiKeyId, Principal } from '@petstore/domain';

/** Who stands before the door. */
export type Authentication =
  | { readonly type: 'authenticated'; readonly principal: Principal; readonly key: ApiKey }
  /** No bearer token came: answered as `missing_api_key`. */
  | { readonly type: 'missing' }
  /** Unknown, mistyped, revoked or expired, which look alike: answered as `invalid_api_key`. */
  | { readonly type: 'invalid' };

/** The key store has to be asked. */
export interface KeyLookUp {
  readonly type: 'look-up';
  /** The key as it was known, where this process has known it lately; left out, anybody may have made it up. */
  readonly knownKey?: ApiKey;
  /**
   * Asks the key store, once for any number of callers at a time.
   *
   * @throws StorageUnavailableError (as a rejection) where the key is not known and the key store cannot be reached
   * @throws ApiError (as a rejection) `overloaded` where too many unknown keys are being looked up
   */
  lookUp(): Promise<Authentication>;
}

/** Tells whom an Authorization header speaks for. */
export interface Authenticator {
  /**
   * Tells what is known without asking anybody, or how to ask: so that its caller may decide whether to.
   *
   * @param authorization the header as it came, or `undefined` where none came
   */
  identify(authorization: string | undefined): Authentication | KeyLookUp;
  /** Forgets what is known of a key, so that a revocation or change of plan holds from the next request on. */
  forget(keyId: ApiKeyId): void;
}
