import type { ApiKeyId, ApiKeyPrincipal } from '@petstore/domain';

/** The outcome of authenticating a request. */
export type Authentication =
  /** The principal is the same object until its key is looked up again. */
  | { readonly type: 'authenticated'; readonly principal: ApiKeyPrincipal }
  /** No bearer token came: reported as `missing_api_key`. */
  | { readonly type: 'missing' }
  /** Unknown, mistyped, revoked or expired, which look alike: reported as `invalid_api_key`. */
  | { readonly type: 'invalid' };

/** The key has to be looked up. */
export interface KeyLookUp {
  readonly type: 'look-up';
  /** Whose key it is, if this process has known it lately; undefined for a key never seen, which may be forged. */
  readonly knownPrincipal?: ApiKeyPrincipal;
  /**
   * Looks the key up, once for any number of callers at a time.
   *
   * @throws StorageUnavailableError (as a rejection) if the key is not known and the key store cannot be reached
   * @throws ApiError (as a rejection) `overloaded` if too many unknown keys are being looked up
   */
  lookUp(): Promise<Authentication>;
}

/** Identifies the caller from an Authorization header. */
export interface Authenticator {
  /**
   * Returns what is cached, or how to look the key up, so that its caller can refuse the look-up.
   *
   * @param authorization the header as it came, or `undefined` if none came
   */
  identify(authorization: string | undefined): Authentication | KeyLookUp;
  /**
   * Looks a key up whatever is cached, for what goes on for longer than that. Once for any number of callers at a time.
   *
   * @throws StorageUnavailableError, ApiError (as a rejection) as {@link KeyLookUp.lookUp}
   */
  identifyAnew(authorization: string | undefined): Promise<Authentication>;
  /** Forgets what is known of a key, so that a revocation or change of plan holds from the next request on. */
  forget(keyId: ApiKeyId): void;
}
