import type { ApiKeyId, ApiKeyPrincipal } from '@petstore/domain';

/** The outcome of authenticating a request. */
export type Authentication =
  /** The principal is the same object until its key is looked up again. */
  | { readonly type: 'authenticated'; readonly principal: ApiKeyPrincipal }
  /** The request has no bearer token. It is refused with `missing_api_key`. */
  | { readonly type: 'missing' }
  /** The key is unknown, mistyped, revoked or expired; callers cannot tell which. It is refused with `invalid_api_key`. */
  | { readonly type: 'invalid' };

/** A key that has to be looked up. */
export interface KeyLookUp {
  readonly type: 'look-up';
  /** The key's owner, if this process knew the key 65 s ago; `undefined` for any other key, which may be forged. */
  readonly knownPrincipal?: ApiKeyPrincipal;
  /**
   * Looks the key up. Concurrent callers share one look-up.
   *
   * @throws StorageUnavailableError (as a rejection) if the key is not known and the key store cannot be reached
   * @throws ApiError (as a rejection) `overloaded` if too many unknown keys are being looked up
   */
  lookUp(): Promise<Authentication>;
}

/** Identifies the caller from an Authorization header. */
export interface Authenticator {
  /**
   * Returns the cached result, or the means to look the key up, which the caller may decline to use.
   *
   * @param authorization the header as received; `undefined` if there is none
   */
  identify(authorization: string | undefined): Authentication | KeyLookUp;
  /** Drops a key from the cache: a revocation or a change of plan takes effect with the next request. */
  forget(keyId: ApiKeyId): void;
}
