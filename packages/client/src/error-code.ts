import type { AppRouter, ErrorCode } from '@petstore/api';
import { isTRPCClientError } from '@trpc/client';

export type { ErrorCode };

/**
 * Why a call failed: the code that REST answers with too.
 *
 * @param error whatever a call threw
 * @returns `undefined` where the service did not answer, because it could not be reached or the call was aborted
 */
export const errorCodeOf = (error: unknown): ErrorCode | undefined =>
  isTRPCClientError<AppRouter>(error) ? error.data?.errorCode : undefined;
