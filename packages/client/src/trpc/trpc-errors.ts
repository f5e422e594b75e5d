import { isTRPCClientError, type TRPCClientError } from '@trpc/client';
import { createAnswerError, PetstoreError, RateLimitError } from '../errors.ts';
import { readRetryAfterSeconds } from '../transport/retry-after.ts';
import type { AppRouter, ErrorCode } from './router.ts';
import type { TrpcResponse } from './trpc-fetch.ts';

export type { ErrorCode };

/**
 * Why a call failed: the code that REST answers with too.
 *
 * @param error whatever a call threw
 * @returns `undefined` where the service did not answer, because it could not be reached or the call was aborted
 */
export function errorCodeOf(error: unknown): ErrorCode | undefined {
  if (!isTRPCClientError<AppRouter>(error)) return undefined;
  // Calls that are not sent at all, while the service asks to wait, have no answer of their own.
  return error.data?.errorCode ?? (error.cause instanceof RateLimitError ? 'rate_limit_exceeded' : undefined);
}

/**
 * The same failure as REST would throw it, with `code`, `status`, `requestId` and `retryAfterSeconds`.
 *
 * @param error whatever a call threw
 * @returns `undefined` where the call was aborted, or the error is not one of a call
 */
export function petstoreErrorOf(error: unknown): PetstoreError | undefined {
  if (error instanceof PetstoreError) return error;
  if (!isTRPCClientError<AppRouter>(error)) return undefined;
  const { cause, data, message } = error;
  if (cause instanceof PetstoreError) return cause;
  if (!data) return undefined;
  const headers = answerHeadersOf(error);
  return createAnswerError(message, {
    code: data.errorCode,
    status: data.httpStatus,
    requestId: headers?.get('x-request-id') ?? undefined,
    retryAfterSeconds: headers && readRetryAfterSeconds(headers, Date.now()),
    cause: error,
  });
}

function answerHeadersOf({ meta }: TRPCClientError<AppRouter>): Headers | undefined {
  const response = meta?.['response'] as TrpcResponse | undefined; // what our own fetch gave
  return response?.headers;
}
