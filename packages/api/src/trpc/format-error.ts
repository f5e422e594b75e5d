import type { TRPCErrorFormatter, TRPCErrorShape } from '@trpc/server';
import { type TRPC_ERROR_CODE_KEY, TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc';
import type { ApiError } from '../api-error.ts';
import type { Context } from '../context.ts';
import { ERROR_CATALOGUE, type ErrorCode } from '../error-catalogue.ts';
import { errorResponse, toErrorResponse } from '../errors/error-response.ts';
import { toApiError } from '../errors/to-api-error.ts';
import { transformer } from './transformer.ts';

/** The data of a tRPC error. */
export interface TrpcErrorData {
  readonly code: TRPC_ERROR_CODE_KEY;
  readonly httpStatus: number;
  /** The code that REST responds with for the same error. */
  readonly errorCode: ErrorCode;
}

/** tRPC's error shape with our code in its data. It has no stack, and no path, which is text that the caller sent. */
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

/** Shapes every error in tRPC's responses. */
export const formatTrpcError: TRPCErrorFormatter<Context, TrpcErrorShape> = ({ error }) => {
  const { errorCode, message } = toApiError(error);
  return shapeOf(errorCode, message);
};

/**
 * The body of a response under /trpc if the whole request fails before tRPC runs: one envelope, even for a batch, as tRPC
 * responds when its context cannot be made. All of tRPC's links can read it, including the streaming one.
 */
export function toTrpcEnvelope(error: ErrorCode | ApiError): string {
  const { code, message } = typeof error === 'string' ? errorResponse(error) : toErrorResponse(error);
  return JSON.stringify({ error: transformer.serialize(shapeOf(code, message)) });
}
