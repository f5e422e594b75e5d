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

/** The response to a failure in the HTTP layer. @param message more precise than the catalogue's message */
export function errorResponse(code: ErrorCode, message: string = ERROR_CATALOGUE[code].message): ErrorResponse {
  const { status, headers = {} } = ERROR_CATALOGUE[code];
  return { status, code, message, headers, body: JSON.stringify({ code, message, status }) };
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
