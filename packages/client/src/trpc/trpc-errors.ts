import { isTRPCClientError, type TRPCClientError } from '@trpc/client';
import { createResponseError, PetstoreError } from '../errors.ts';
import { readRetryAfterSeconds } from '../transport/service-response.ts';
import type { AppRouter, ErrorCode } from './router.ts';
import type { TrpcResponse } from './trpc-fetch.ts';

/**
 * Why a call failed: the same code as over REST.
 *
 * @param error whatever a call threw
 * @returns `undefined` where there was no response: the service could not be reached, or the call was aborted
 */
export function errorCodeOf(error: unknown): ErrorCode | undefined {
  const { data, cause = error } = isTRPCClientError<AppRouter>(error) ? error : {};
  // Subscriptions, and calls that are not sent because the service has asked to wait, have no response of tRPC's.
  return data?.errorCode ?? (cause instanceof PetstoreError ? serviceCodeOf(cause) : undefined);
}

const serviceCodeOf = ({ status, code }: PetstoreError): ErrorCode | undefined =>
  status === undefined || code === 'unexpected_response' ? undefined : (code as ErrorCode); // the service's own

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
