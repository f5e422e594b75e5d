import { DomainError, StorageUnavailableError } from '@petstore/domain';
import { type TRPC_ERROR_CODE_KEY, TRPCError } from '@trpc/server';
import { ZodError } from 'zod';
import { ApiError } from '../api-error.ts';
import { codeIn, type ErrorCode } from '../error-catalogue.ts';
import type { ApiVersion } from '../openapi/versions.ts';
import { refusalOf, refusalOfReason } from './refusals.ts';

/** Refusals by tRPC itself, before a procedure runs. Procedures throw {@link ApiError}. */
const CODE_OF_REFUSAL: Partial<Record<TRPC_ERROR_CODE_KEY, ErrorCode>> = {
  BAD_REQUEST: 'invalid_request',
  PARSE_ERROR: 'malformed_json',
  NOT_FOUND: 'route_not_found',
  METHOD_NOT_SUPPORTED: 'method_not_allowed',
  PAYLOAD_TOO_LARGE: 'payload_too_large',
  UNSUPPORTED_MEDIA_TYPE: 'unsupported_media_type',
};

/**
 * Converts an error to one that the caller may see. tRPC's messages are dropped: they may repeat what the caller sent.
 *
 * @param error anything thrown, by a procedure or by tRPC around it
 * @returns an error of the catalogue; any other error becomes `internal_error`, with the original as its `cause`
 */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  // tRPC wraps errors that it did not throw itself.
  const cause = error instanceof TRPCError ? (error.cause ?? error) : error;
  if (cause instanceof ApiError) return cause;
  if (cause instanceof StorageUnavailableError) return new ApiError('service_unavailable', undefined, cause);
  if (cause instanceof DomainError) return refusalOfReason(cause.reason);
  const code = error instanceof TRPCError ? CODE_OF_REFUSAL[error.code] : undefined;
  if (code === 'invalid_request') {
    if (cause instanceof ZodError) return new ApiError(code, describeIssues(cause.issues), cause);
    if (cause instanceof SyntaxError) return refusalOf('malformed_json');
  }
  return new ApiError(code ?? 'internal_error', undefined, cause);
}

/** Converts an error to the one that a version of the REST interface has in its place. */
export function toApiErrorOf(version: ApiVersion, thrown: unknown): ApiError {
  const error = toApiError(thrown);
  const code = codeIn(version, error.errorCode);
  return code === error.errorCode ? error : refusalOf(code);
}

/** A failure that is reported to the operator. */
interface Failure {
  /** `warn`: a dependency is unavailable, and recovers by itself. `error`: a fault of the service. */
  readonly severity: 'warn' | 'error';
  /** The error that was originally thrown. */
  readonly cause: unknown;
}

/** The failure behind an error, which is logged once; `undefined` if the error concerns only its caller. */
export function failureOf(error: unknown): Failure | undefined {
  const { errorCode, cause } = toApiError(error);
  if (errorCode === 'internal_error') return { severity: 'error', cause };
  if (errorCode === 'service_unavailable') return { severity: 'warn', cause };
  return undefined;
}

const SHOWN_ISSUES = 5;

/**
 * Says what is wrong with an input, and what would be right. It names only fields of the schema: zod's messages for
 * unknown fields repeat what the caller sent, which might be a key. An element of a list is named by the field alone,
 * because elements have no number in a query.
 */
function describeIssues(issues: ZodError['issues']): string {
  const complaints = new Set(
    issues.map(({ path, message }) => {
      const field = path.filter((step) => typeof step === 'string').join('.') || 'The input';
      return `${field}: ${message.startsWith('Unrecognized key') ? 'contains an unknown field' : message}`;
    }),
  );
  const shown = [...complaints].slice(0, SHOWN_ISSUES);
  if (complaints.size > SHOWN_ISSUES) shown.push(`and ${complaints.size - SHOWN_ISSUES} more`);
  return `${shown.join('; ')}.`;
}
