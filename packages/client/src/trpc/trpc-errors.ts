import { isTRPCClientError } from '@trpc/client';
import { PetstoreError, responseError } from '../errors.ts';
import type { ServiceResponse } from '../transport/service-response.ts';
import type { AppRouter, TrpcErrorShape } from './router.ts';
import type { TrpcResponse } from './trpc-fetch.ts';

/**
 * Why a call failed: the error that the REST client throws, such as `connection_failed` if there was no response.
 *
 * @param error anything that a call threw
 * @returns `undefined` if the call was aborted, or the error does not come from a call
 */
export function petstoreErrorOf(error: unknown): PetstoreError | undefined {
  if (error instanceof PetstoreError) return error;
  if (!isTRPCClientError<AppRouter>(error)) return undefined;
  const { cause, data, message, meta } = error;
  if (cause instanceof PetstoreError) return cause;
  return data ? errorOfShape({ message, data }, responseOf(meta), error) : undefined;
}

/** The error that the service describes in a tRPC response. */
export function errorOfShape(
  { message, data }: Pick<TrpcErrorShape, 'message' | 'data'>,
  response: ServiceResponse | undefined,
  cause?: unknown,
): PetstoreError {
  const { requestId, retryAfterSeconds } = response ?? {};
  return responseError(message, { code: data.errorCode, status: data.httpStatus, requestId, retryAfterSeconds, cause });
}

/** The response of a call, which tRPC passes on as the `context` of a result and as the `meta` of an error. */
export const responseOf = (meta: Readonly<Record<string, unknown>> | undefined): ServiceResponse | undefined =>
  (meta?.['response'] as TrpcResponse | undefined)?.source; // made by `createTrpcFetch`
