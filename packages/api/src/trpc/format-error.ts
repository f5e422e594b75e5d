import type { TRPCErrorFormatter, TRPCErrorShape } from '@trpc/server';
import { type TRPC_ERROR_CODE_KEY, TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc';
import type { ApiError } from '../api-error.ts';
import type { Context } from '../context.ts';
import { ERROR_CATALOGUE, type ErrorCode } from '../error-catalogue.ts';
import { errorResponse, toErrorResponse } from '../errors/error-response.ts';
import { toApiError } from '../errors/to-api-error.ts';
import { transformer } from './transformer.ts';

/** What a tRPC error holds besides its message. */
export interface TrpcErrorData {
  readonly code: TRPC_ERROR_CODE_KEY;
  readonly httpStatus: number;
  /** The same code that REST responds with. */
  readonly errorCode: ErrorCode;
}

/** tRPC's own error shape, and our code in its data. It holds no stack, and no path: that is what the caller sent. */
export interface TrpcErrorShape extends TRPCErrorShape<TrpcErrorData> {
  readonly message: string;
}

function shapeOf(errorCode: ErrorCode, message: string): TrpcErrorShape {
  const { status, trpcCode } = ERROR_CATALOGUE[errorCode];
  return {
    message,
    code: TRPC_ERROR_CODES_BY_KEY[trpcCode],
    data: { code: trpcCode, httpStatus: status, errorCode },
  };
}

/** Shapes every error that tRPC responds with. */
export const formatTrpcError: TRPCErrorFormatter<Context, TrpcErrorShape> = ({ error }) => {
  const { errorCode, message } = toApiError(error);
  return shapeOf(errorCode, message);
};

/**
 * The body of a response under /trpc to a failure that concerns the whole request, before tRPC runs: one envelope, for a
 * batch too, as tRPC responds when its context cannot be made. All of tRPC's links read it, the streaming one included.
 */
export function toTrpcEnvelope(error: ErrorCode | ApiError): string {
  const { code, message } = typeof error === 'string' ? errorResponse(error) : toErrorResponse(error);
  return JSON.stringify({ error: transformer.serialize(shapeOf(code, message)) });
}
