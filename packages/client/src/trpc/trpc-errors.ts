import { isTRPCClientError } from '@trpc/client';
import { PetstoreError, type PetstoreErrorCode, responseError } from '../errors.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
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
  const { requestId, retryAfterSeconds } = responseOf(error.meta) ?? {};
  return responseError(message, {
    code: data.errorCode,
    status: data.httpStatus,
    requestId,
    retryAfterSeconds,
    cause: error,
  });
}

/** The response of a call, which tRPC hands on: as the `context` of a result, as the `meta` of an error. */
export const responseOf = (meta: Readonly<Record<string, unknown>> | undefined): ServiceResponse | undefined =>
  (meta?.['response'] as TrpcResponse | undefined)?.source; // as `createTrpcFetch` made it
