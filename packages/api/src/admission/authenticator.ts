import type { ApiKey, ApiKeyId, Principal } from '@petstore/domain';

/** Who stands before the door. */
export type Authentication =
  | { readonly type: 'authenticated'; readonly principal: Principal; readonly key: ApiKey }
  /** No bearer token came: answered as `missing_api_key`. */
  | { readonly type: 'missing' }
  /** Unknown, mistyped, revoked or expired, which look alike: answered as `invalid_api_key`. */
  | { readonly type: 'invalid' };

/** Tells whom an Authorization header speaks for. */
export interface Authenticator {
  /**
   * Answers at once where the key is known, without a promise.
   *
   * @param authorization the header as it came, or `undefined` where none came
   * @throws StorageUnavailableError (as a rejection) where the key is not known and the key store cannot be reached
   */
  authenticate(authorization: string | undefined): Authentication | Promise<Authentication>;
  /** Forgets what is known of a key, so that a revocation or change of plan holds from the next request on. */
  forget(keyId: ApiKeyId): void;
}
