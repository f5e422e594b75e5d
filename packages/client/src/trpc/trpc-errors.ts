import { isTRPCClientError, type TRPCClientError } from '@trpc/client';
import { PetstoreError, type PetstoreErrorCode } from '../errors.ts';
import { createResponseError } from '../response-error.ts';
import { readRetryAfterSeconds } from '../transport/service-response.ts';
import type { AppRouter } from './router.ts';
import type { TrpcResponse } from './trpc-fetch.ts';

/**
 * Why a call failed: the same code as over REST, such as `connection_failed` where there was no response.
 *
 * @param error whatever a call threw
 * @returns `undefined` where the call was aborted, or the error is not one of a call
 */
export const errorCodeOf = (error: unknown): PetstoreErrorCode | undefined => petstoreErrorOf(error)?.code;

/**
 * The same failure as the REST client throws it, with `code`, `status`, `requestId` and `retryAfterSeconds`.
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
  const headers = responseHeadersOf(error);
  return createResponseError(message, {
    code: data.errorCode,
    status: data.httpStatus,
    requestId: headers?.get('x-request-id') ?? undefined,
    retryAfterSeconds: headers && readRetryAfterSeconds(headers, Date.now()),
    cause: error,
  });
}

function responseHeadersOf({ meta }: TRPCClientError<AppRouter>): Headers | undefined {
  const response = meta?.['response'] as TrpcResponse | undefined; // as `createTrpcFetch` made it
  return response?.headers;
}
