import {
  IdempotencyKeyReusedError,
  OrderEventsExpiredError,
  StorageUnavailableError,
  UnknownPositionError,
} from '@petstore/domain';
import { type TRPC_ERROR_CODE_KEY, TRPCError } from '@trpc/server';
import { ZodError } from 'zod';
import { ApiError } from '../api-error.ts';
import type { ErrorCode } from '../error-catalogue.ts';
import { describeIssues } from './describe-issues.ts';

/** What tRPC itself reports, before or after a procedure runs. Procedures throw {@link ApiError}. */
const CODE_OF_TRPC_CODE = {
  PARSE_ERROR: 'malformed_json',
  BAD_REQUEST: 'invalid_request',
  UNAUTHORIZED: 'invalid_api_key',
  PAYMENT_REQUIRED: 'invalid_request',
  FORBIDDEN: 'insufficient_scope',
  NOT_FOUND: 'route_not_found',
  METHOD_NOT_SUPPORTED: 'method_not_allowed',
  TIMEOUT: 'request_timeout',
  CONFLICT: 'invalid_request',
  PRECONDITION_FAILED: 'invalid_request',
  PAYLOAD_TOO_LARGE: 'payload_too_large',
  UNSUPPORTED_MEDIA_TYPE: 'unsupported_media_type',
  UNPROCESSABLE_CONTENT: 'invalid_request',
  PRECONDITION_REQUIRED: 'invalid_request',
  TOO_MANY_REQUESTS: 'rate_limit_exceeded',
  CLIENT_CLOSED_REQUEST: 'invalid_request',
  INTERNAL_SERVER_ERROR: 'internal_error',
  NOT_IMPLEMENTED: 'internal_error',
  BAD_GATEWAY: 'internal_error',
  SERVICE_UNAVAILABLE: 'service_unavailable',
  GATEWAY_TIMEOUT: 'service_unavailable',
} as const satisfies Record<TRPC_ERROR_CODE_KEY, ErrorCode>;

/** tRPC's own messages may repeat what the caller sent, so they are said again in our words, by how they begin. */
const TRPC_MESSAGES: readonly (readonly [start: string, message: string])[] = [
  ['Cannot mix procedure types', 'A batch holds either queries or mutations, not both.'],
  ['Streaming requests must be batched', 'A streaming request must be a batch, if only of one call: add batch=1.'],
  ['"input" needs to be an object', 'The input of a batch must be an object keyed by the number of the call.'],
  ['Batch call exceeds maximum size', 'The batch holds too many calls.'],
  ['Cannot batch subscription calls', 'A subscription must not be in a batch.'],
  ['Invalid URL-encoding', 'The path is not percent-encoded correctly.'],
  [
    'Cannot use stream-like response',
    "This procedure streams its response; call it with @trpc/client's httpBatchStreamLink.",
  ],
];

/**
 * The failure as the caller may see it.
 *
 * @param error anything thrown, by a procedure or by tRPC around it
 * @returns an error of the catalogue; what it does not cover is `internal_error`, with the original as its `cause`
 */
export function toApiError(error: unknown): ApiError {
  if (!(error instanceof TRPCError)) return ofPorts(error) ?? new ApiError('internal_error', undefined, error);
  if (error instanceof ApiError) return error;
  const { cause } = error;
  if (cause instanceof ApiError) return cause;
  const known = ofPorts(cause);
  if (known !== undefined) return known;
  if (error.code === 'BAD_REQUEST') {
    if (cause instanceof ZodError) return new ApiError('invalid_request', describeIssues(cause.issues), error);
    if (cause instanceof SyntaxError) return new ApiError('malformed_json', undefined, error);
  }
  const ownWords = TRPC_MESSAGES.find(([start]) => error.message.startsWith(start))?.[1];
  return new ApiError(CODE_OF_TRPC_CODE[error.code], ownWords, cause ?? error);
}

/** What storage throws for its callers to know. */
function ofPorts(error: unknown): ApiError | undefined {
  if (error instanceof StorageUnavailableError) return new ApiError('service_unavailable', undefined, error);
  if (error instanceof IdempotencyKeyReusedError) return new ApiError('idempotency_key_reused');
  if (error instanceof OrderEventsExpiredError) return new ApiError('events_expired');
  if (error instanceof UnknownPositionError) return new ApiError('invalid_request', UNKNOWN_POSITION);
  return undefined;
}

const UNKNOWN_POSITION = 'after: no event has been given this id yet. Use the id of an event, or 0 for the beginning.';

/** A failure that is reported to the operator. */
export interface Failure {
  /** `warn`: a dependency is away, and recovers by itself. `error`: a fault of the service. */
  readonly severity: 'warn' | 'error';
  /** What was thrown in the first place. */
  readonly cause: unknown;
}

/** The failure behind an error, to be logged once; `undefined` where the error concerns its caller only. */
export function failureOf(error: unknown): Failure | undefined {
  const { errorCode, cause } = toApiError(error);
  if (errorCode === 'internal_error') return { severity: 'error', cause };
  if (errorCode === 'service_unavailable') return { severity: 'warn', cause };
  return undefined;
}
