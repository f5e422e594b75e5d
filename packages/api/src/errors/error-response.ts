import { ERROR_CATALOGUE, type ErrorCode } from '../error-catalogue.ts';
import { toApiError } from './to-api-error.ts';

/** A failure as it goes over REST. */
export interface ErrorResponse {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  /** Headers of the error itself, with names in lower case. Rate limit headers come from the limiter. */
  readonly headers: Readonly<Record<string, string>>;
  /** The Error object, as JSON text. */
  readonly body: string;
}

/** RFC 6750 section 3: no error code if no credentials came, `invalid_token` if they are not valid. */
const ERROR_HEADERS: Partial<Record<ErrorCode, Readonly<Record<string, string>>>> = {
  missing_api_key: { 'www-authenticate': 'Bearer realm="petstore"' },
  invalid_api_key: {
    'www-authenticate':
      'Bearer realm="petstore", error="invalid_token", error_description="The API key is unknown, revoked or expired"',
  },
  insufficient_scope: { 'www-authenticate': 'Bearer realm="petstore", error="insufficient_scope"' },
  rate_limit_exceeded: { 'cache-control': 'no-store' },
  too_many_in_flight: { 'retry-after': '1', 'cache-control': 'no-store' },
  api_key_banned: { 'cache-control': 'no-store' },
  service_unavailable: { 'retry-after': '5' },
  overloaded: { 'retry-after': '1' },
};

/** The response to a failure in the HTTP layer. @param message more precise than the catalogue's message */
export function errorResponse(code: ErrorCode, message: string = ERROR_CATALOGUE[code].message): ErrorResponse {
  const { status } = ERROR_CATALOGUE[code];
  return { status, code, message, headers: ERROR_HEADERS[code] ?? {}, body: JSON.stringify({ code, message, status }) };
}

/**
 * The response to a failure over REST, in whatever layer it occurred.
 *
 * @param error anything thrown; an error that the caller must not see becomes `internal_error` with a neutral message
 */
export function toErrorResponse(error: unknown): ErrorResponse {
  const { errorCode, message } = toApiError(error);
  return errorResponse(errorCode, message);
}
