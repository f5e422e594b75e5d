import { ERROR_CATALOGUE, type ErrorCode } from '../error-catalogue.ts';
import { toApiError } from './to-api-error.ts';

/** A failure as it goes over REST. */
export interface ErrorResponse {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  /** Headers that belong to the error itself, names in lower case. Those of the rate limit come from the limiter. */
  readonly headers: Readonly<Record<string, string>>;
  /** The Error object, as JSON text. */
  readonly body: string;
}

const NO_HEADERS = {};

/** RFC 6750 section 3: no error code where no credentials came, `invalid_token` where they are not valid. */
const ERROR_HEADERS: Partial<Record<ErrorCode, Readonly<Record<string, string>>>> = {
  missing_api_key: { 'www-authenticate': 'Bearer realm="petstore"' },
  invalid_api_key: {
    'www-authenticate':
      'Bearer realm="petstore", error="invalid_token", error_description="The API key is unknown, revoked or expired"',
  },
  insufficient_scope: { 'www-authenticate': 'Bearer realm="petstore", error="insufficient_scope"' },
  rate_limit_exceeded: { 'cache-control': 'no-store' },
  api_key_banned: { 'cache-control': 'no-store' },
  service_unavailable: { 'retry-after': '5' },
  overloaded: { 'retry-after': '1' },
};

function buildResponse(code: ErrorCode, message: string): ErrorResponse {
  const { status } = ERROR_CATALOGUE[code];
  const headers = ERROR_HEADERS[code] ?? NO_HEADERS;
  return { status, code, message, headers, body: JSON.stringify({ code, message, status }) };
}

const RESPONSES = Object.fromEntries(
  Object.entries(ERROR_CATALOGUE).map(([code, { message }]) => [
    code,
    buildResponse(code as ErrorCode, message), // the catalogue's own key
  ]),
) as Record<ErrorCode, ErrorResponse>; // all of its keys, each once

/**
 * The response to a failure over REST, whichever layer it comes from.
 *
 * @param error anything thrown; what the caller may not know becomes `internal_error` with a bland message
 */
export function toErrorResponse(error: unknown): ErrorResponse {
  const { errorCode, message } = toApiError(error);
  const response = RESPONSES[errorCode];
  return response.message === message ? response : buildResponse(errorCode, message);
}

/** The response to a failure that the HTTP layer itself decides on, made once at start. */
export const errorResponse = (code: ErrorCode): ErrorResponse => RESPONSES[code];
